// Building Kineto's configuration text, and reading a caller's own.
#include "profiling/trace_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/number.h"
#include "base/text.h"
#include "processes/torch_version.h"
#include "profiling/config_lines.h"
#include "profiling/kineto_paths.h"
#include "profiling/trace_keys.h"

namespace dynolog {
namespace {

// An unknown version is taken for a recent one.
bool carries_trace_id(const TorchFacts& torch) {
  return torch.knows_trace_id || torch.version.empty();
}

// What will not be as the person who asks may expect.
void add_notes(const TraceOptions& options, const TorchFacts& torch, TraceRequest& request) {
  if (!request.place.note.empty()) request.notes.push_back(request.place.note);
  if (request.iterations > 0) {
    request.notes.emplace_back(
        "iterations are counted by an optimizer's or profiler's steps: a process that makes none "
        "is traced by time instead, or (PyTorch up to 2.11) not at all");
  }
  if (request.memory_snapshot) {
    request.notes.emplace_back(
        "a memory snapshot leaves a thread of the process spinning on one core for the rest of the "
        "job; the file is a pickle, for pytorch.org/memory_viz");
  } else if (!carries_trace_id(torch)) {
    request.notes.push_back("PyTorch " + torch.version +
                            " writes no trace id: the file cannot be proven to be this session's");
  }
  if (!options.pm_sampling_metrics.empty()) {
    request.notes.push_back(fmt::format(
        "the performance monitors of device {}, as the process counts its GPUs, are sampled: no "
        "other profiler can use them meanwhile",
        options.pm_sampling_device.value_or(0)));
  }
}

Nanoseconds default_lead(const TorchFacts& torch) {
  const bool torch_2_0 = torch_version(torch.version) == TorchVersion{.major = 2, .minor = 0};
  return std::chrono::seconds(torch_2_0 ? 10 : 2);
}

// Values from the options themselves, by the table's ranges; the error names the option.
Status check_options(const TraceOptions& options) {
  const auto in_range = [](std::string_view key, std::int64_t value) -> Status {
    const TraceKey& known = *find_trace_key(key);
    if (value >= known.least && value <= known.most) return {};
    return fail(ErrorKind::invalid, fmt::format("{} {}: must be from {} to {}", known.option, value,
                                                known.least, known.most));
  };
  if (auto ok = in_range("ACTIVITIES_DURATION_MSECS", options.duration_ms); !ok) return ok;
  if (auto ok = in_range("ACTIVITIES_ITERATIONS", options.iterations); !ok) return ok;
  if (auto ok = in_range("PROFILE_START_TIME", options.start_time_ms); !ok) return ok;
  if (auto ok = in_range("ACTIVITIES_WARMUP_PERIOD_SECS", options.warmup_s.value_or(0)); !ok) {
    return ok;
  }
  if (options.buffer_mb) {
    if (auto ok = in_range("ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", *options.buffer_mb); !ok) return ok;
  }
  if (options.pm_sampling_device) {
    if (auto ok = in_range("PERFORMANCE_METRICS_DEVICE_ID", *options.pm_sampling_device); !ok) {
      return ok;
    }
  }
  if (options.iterations > 0 && options.start_time_ms > 0) {
    return fail(ErrorKind::invalid,
                "--profile-start-time and --iterations exclude each other: steps decide when those "
                "begin");
  }
  if (options.iterations > 0 && options.iteration_roundup < 1) {
    return fail(ErrorKind::invalid,
                fmt::format("--profile-start-iteration-roundup {}: must be 1 or more",
                            options.iteration_roundup));
  }
  if (options.iterations == 0) return {};
  return in_range("PROFILE_START_ITERATION_ROUNDUP", options.iteration_roundup);
}

Status check_sampling(const TraceOptions& options, const ProcessFacts& facts,
                      const TorchFacts& torch) {
  constexpr std::size_t kMaxMetrics = 64;
  constexpr std::size_t kMaxMetric = 200;
  constexpr int kSince = 15;
  constexpr std::string_view kOption = "--cupti-pm-sampling-metrics";
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::invalid, fmt::format("{} {}", kOption, what));
  };
  if (options.pm_sampling_metrics.empty()) {
    if (!options.pm_sampling_device) return {};
    return fail(ErrorKind::invalid,
                fmt::format("--cupti-pm-sampling-device needs {} beside it", kOption));
  }
  // The kind of events that carries the metrics is unknown before: it would spoil the request.
  if (torch_minor(torch) < kSince) {
    return bad(fmt::format("needs torch 2.{} or newer; {}", kSince,
                           torch.version.empty()
                               ? "the version of this process's is not known"
                               : "the process has " + clean_text(torch.version, 40)));
  }
  if (!facts.holds_gpu) return bad("needs a process that holds a GPU");
  if (options.pm_sampling_metrics.size() > kMaxMetrics) return bad("names more than 64 metrics");
  for (const std::string& metric : options.pm_sampling_metrics) {
    const bool plain = std::ranges::all_of(
        metric, [](char c) { return is_alnum(c) || c == '_' || c == '.' || c == ':' || c == '-'; });
    if (metric.empty() || metric.size() > kMaxMetric || !plain) {
      return bad(fmt::format("\"{}\": not a metric's name, such as sm__cycles_active.avg",
                             clean_text(metric, 60)));
    }
  }
  return {};
}

// What goes into the trace, by what this process's version knows.
Status check_content(const TraceOptions& options, const ProcessFacts& facts,
                     const TorchFacts& torch) {
  if (options.profile_memory && knows_snapshot(torch) && !facts.holds_gpu) {
    return fail(ErrorKind::invalid,
                "a memory snapshot needs a process that holds a GPU: without one no file comes, "
                "and a thread of the process would spin for the rest of the job");
  }
  for (const std::string& type : options.activity_types) {
    auto ok = check_activity_type(type, torch);
    if (!ok) return with_context(std::move(ok.error()), "--activity-types");
  }
  return check_sampling(options, facts, torch);
}

Status check_further(const TraceOptions& options, const TorchFacts& torch) {
  constexpr std::size_t kMaxFurther = 64;
  if (options.set.size() > kMaxFurther) {
    return fail(ErrorKind::invalid, fmt::format("more than {} keys are set", kMaxFurther));
  }
  for (const auto& [name, value] : options.set) {
    const TraceKey* const key = find_trace_key(name);
    if (key == nullptr) return fail(ErrorKind::invalid, unknown_trace_key(name));
    if (!key->option.empty()) {
      return fail(ErrorKind::invalid,
                  fmt::format("{} is set by {}, not as a key", name, key->option));
    }
    if (trim(value) != value) {
      return fail(ErrorKind::invalid, name + ": the value begins or ends with a blank");
    }
    if (auto ok = check_trace_value(*key, value, torch); !ok) return ok;
  }
  return {};
}

std::string flag_line(std::string_view key, bool value) {
  return fmt::format("{}={}\n", key, value ? "true" : "false");
}

std::string timing_lines(const TraceOptions& options, std::int64_t warmup_s) {
  // A client that counts no iterations (2.12 on) falls back to the duration, so both are sent.
  std::string lines =
      fmt::format("ACTIVITIES_WARMUP_PERIOD_SECS={}\nACTIVITIES_DURATION_MSECS={}\n", warmup_s,
                  options.duration_ms);
  if (options.iterations > 0) {
    lines += fmt::format(
        "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP={}\nACTIVITIES_ITERATIONS={}\n",
        options.iteration_roundup, options.iterations);
  } else if (options.start_time_ms > 0) {
    lines += fmt::format("PROFILE_START_TIME={}\n", options.start_time_ms);
  }
  return lines;
}

std::string activity_types(const TraceOptions& options) {
  std::vector<std::string> types = options.activity_types;
  if (!options.pm_sampling_metrics.empty()) {
    // Not among those that are recorded when none are named.
    constexpr std::string_view kCounters = "hardware_counters";
    if (types.empty()) types = default_activity_types();
    if (std::ranges::find(types, kCounters) == types.end()) types.emplace_back(kCounters);
  }
  return fmt::format("{}", fmt::join(types, ","));
}

// The keys were renamed between two releases. One that a client does not know only makes it warn.
std::string sampling_lines(const TraceOptions& options) {
  if (options.pm_sampling_metrics.empty()) return {};
  const std::string metrics = fmt::format("{}", fmt::join(options.pm_sampling_metrics, ","));
  const std::int64_t device = options.pm_sampling_device.value_or(0);
  return fmt::format(
      "PERFORMANCE_METRICS={0}\nPERFORMANCE_METRICS_DEVICE_ID={1}\n"
      "CUPTI_PM_SAMPLING_METRICS={0}\nCUPTI_PM_SAMPLING_DEVICE_ID={1}\n",
      metrics, device);
}

std::string content_lines(const TraceOptions& options) {
  std::string lines = flag_line("PROFILE_REPORT_INPUT_SHAPES", options.record_shapes);
  if (options.profile_memory) lines += flag_line("PROFILE_PROFILE_MEMORY", true);
  lines += flag_line("PROFILE_WITH_STACK", options.with_stacks);
  lines += flag_line("PROFILE_WITH_FLOPS", options.with_flops);
  lines += flag_line("PROFILE_WITH_MODULES", options.with_modules);
  if (const std::string types = activity_types(options); !types.empty()) {
    lines += fmt::format("ACTIVITY_TYPES={}\n", types);
  }
  if (options.buffer_mb) {
    lines += fmt::format("ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB={}\n", *options.buffer_mb);
  }
  lines += sampling_lines(options);
  for (const auto& [key, value] : options.set) lines += fmt::format("{}={}\n", key, value);
  return lines;
}

// What a caller's text says, as Kineto reads it: the last of several lines counts.
struct ReadConfig {
  std::map<std::string, std::string, std::less<>> values;
  bool path_stands = false;  // ACTIVITIES_LOG_FILE, not undone by a later PROFILE_MEMORY

  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const {
    const auto found = values.find(key);
    if (found == values.end()) return std::nullopt;
    return parse_number<std::int64_t>(found->second);
  }
  [[nodiscard]] bool flag(std::string_view key) const {
    const auto found = values.find(key);
    return found != values.end() && is_true(found->second);
  }
};

Status read_line(std::string_view line, const TorchFacts& torch, ReadConfig& read) {
  if (!is_clean(trim(line))) {
    return fail(ErrorKind::invalid, "holds control characters or is not UTF-8");
  }
  const auto setting = read_config_line(line);
  if (!setting) return std::unexpected(setting.error());
  if (!*setting) return {};
  const auto [name, value] = **setting;
  const TraceKey* const key = find_trace_key(name);
  if (key == nullptr) return fail(ErrorKind::invalid, unknown_trace_key(name));
  if (auto ok = check_trace_value(*key, value, torch); !ok) return ok;
  if (name == "PROFILE_MEMORY" && is_true(value)) read.path_stands = false;
  if (name == "ACTIVITIES_LOG_FILE") read.path_stands = true;
  read.values.insert_or_assign(std::string(name), std::string(value));
  return {};
}

Result<ReadConfig> read_config(std::string_view config, const TorchFacts& torch) {
  constexpr std::size_t kMaxConfig = 8U << 10U;
  if (config.size() > kMaxConfig) {
    return fail(ErrorKind::invalid, "the configuration is longer than 8 KiB");
  }
  ReadConfig read;
  int line_number = 0;
  for (const std::string_view line : split(config, '\n')) {
    ++line_number;
    auto ok = read_line(line, torch, read);
    if (!ok) return with_context(std::move(ok.error()), fmt::format("line {}", line_number));
  }
  if (read.values.empty()) return fail(ErrorKind::invalid, "the configuration holds no key");
  return read;
}

// Where a caller's own text leads to.
TracePlace place_of(const ReadConfig& read, bool snapshot, const ProcessFacts& facts,
                    const TorchFacts& torch) {
  const auto path = read.values.find("ACTIVITIES_LOG_FILE");
  const bool named = path != read.values.end() && (!snapshot || read.path_stands);
  TracePlace place;
  if (named) place.log_file = path->second;
  WhereWritten where = where_written(place.log_file, snapshot, facts, torch);
  if (!named) place.log_file = where.path;
  place.in_place = true;
  place.target = place.file = std::move(where.path);
  place.elsewhere = std::move(where.elsewhere);
  place.note = std::move(where.note);
  return place;
}

void take_timing(const ReadConfig& read, const TorchFacts& torch, TraceRequest& request) {
  constexpr std::int64_t kDefaultWarmup = 5;
  constexpr std::int64_t kDefaultDuration = 500;
  request.default_lead = default_lead(torch);
  request.carries_trace_id = carries_trace_id(torch);
  request.warmup =
      std::chrono::seconds(read.number("ACTIVITIES_WARMUP_PERIOD_SECS").value_or(kDefaultWarmup));
  request.window =
      Milliseconds(read.number("ACTIVITIES_DURATION_MSECS").value_or(kDefaultDuration));
  if (const auto seconds = read.number("ACTIVITIES_DURATION_SECS");
      seconds && !read.values.contains("ACTIVITIES_DURATION_MSECS")) {
    request.window = std::chrono::seconds(*seconds);
  }
  const bool from_iteration = read.values.contains("PROFILE_START_ITERATION") ||
                              read.number("PROFILE_START_ITERATION_ROUNDUP").value_or(0) > 0;
  if (from_iteration) request.iterations = read.number("ACTIVITIES_ITERATIONS").value_or(0);
  const std::int64_t start = read.number("PROFILE_START_TIME").value_or(0);
  if (start > 0 && request.iterations == 0) request.asked_start = WallTime(Milliseconds(start));
}

}  // namespace

Result<TraceRequest> build_trace_request(const TraceOptions& options, const ProcessFacts& facts,
                                         const TorchFacts& torch, std::string trace_id,
                                         TracePlace place) {
  if (auto ok = check_options(options); !ok) return std::unexpected(ok.error());
  if (auto ok = check_content(options, facts, torch); !ok) return std::unexpected(ok.error());
  if (auto ok = check_further(options, torch); !ok) return std::unexpected(ok.error());

  const std::int64_t warmup_s = options.warmup_s.value_or(facts.holds_gpu ? 1 : 0);
  TraceRequest request;
  request.memory_snapshot = options.profile_memory && knows_snapshot(torch);
  if (request.memory_snapshot) {
    // Sets a path of its own, so it stands before ours.
    request.config =
        fmt::format("PROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS={}\n", options.duration_ms);
  }
  request.config += fmt::format("ACTIVITIES_LOG_FILE={}\n", place.log_file);
  request.config += timing_lines(options, warmup_s);
  request.config += content_lines(options);
  request.trace_id = std::move(trace_id);
  request.warmup = std::chrono::seconds(warmup_s);
  request.window = Milliseconds(options.duration_ms);
  request.iterations = options.iterations;
  request.place = std::move(place);
  request.default_lead = default_lead(torch);
  request.carries_trace_id = carries_trace_id(torch);
  if (options.iterations == 0) {
    if (options.start_time_ms > 0) {
      request.asked_start = WallTime(Milliseconds(options.start_time_ms));
    } else {
      request.start_lead = request.warmup + kStartMargin;
    }
  }
  add_notes(options, torch, request);
  return request;
}

Result<TraceRequest> check_trace_config(std::string_view config, const ProcessFacts& facts,
                                        const TorchFacts& torch, std::string trace_id) {
  auto read = read_config(config, torch);
  if (!read) return std::unexpected(read.error());
  TraceRequest request;
  request.config = std::string(config);
  request.trace_id = std::move(trace_id);
  take_timing(*read, torch, request);
  request.memory_snapshot = read->flag("PROFILE_MEMORY") && knows_snapshot(torch);
  request.place = place_of(*read, request.memory_snapshot, facts, torch);
  return request;
}

std::string handed_over_text(const TraceRequest& request, WallTime now) {
  std::string text = request.config;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (request.start_lead) {
    text += fmt::format("PROFILE_START_TIME={}\n", epoch_milliseconds(now + *request.start_lead));
  }
  if (!request.trace_id.empty()) text += fmt::format("REQUEST_TRACE_ID={}\n", request.trace_id);
  return text;
}

}  // namespace dynolog
