// Building Kineto's configuration text, and reading a caller's own.
#include "profiling/trace_config.h"

#include <fmt/format.h>

#include <map>

#include "base/number.h"
#include "base/text.h"
#include "profiling/trace_keys.h"

namespace dynolog {
namespace {

constexpr std::string_view kTraceSuffix = ".pt.trace.json";
constexpr std::string_view kJson = ".json";

std::string with_insertion(std::string_view path, std::string_view insertion) {
  std::size_t at = path.find(kTraceSuffix);
  if (at == std::string_view::npos) at = path.find(kJson);
  if (at == std::string_view::npos) at = path.size();
  return fmt::format("{}_{}{}", path.substr(0, at), insertion, path.substr(at));
}

// A memory snapshot goes to the path as it stands: the pid is ours to add.
std::string snapshot_name(std::string_view path, std::int32_t namespace_pid) {
  std::string_view stem = path;
  if (stem.ends_with(kTraceSuffix)) {
    stem.remove_suffix(kTraceSuffix.size());
  } else if (stem.ends_with(kJson)) {
    stem.remove_suffix(kJson.size());
  } else if (stem.ends_with(".pickle")) {
    stem.remove_suffix(7);
  }
  return fmt::format("{}_{}.pickle", stem, namespace_pid);
}

bool knows_snapshot(const TorchFacts& torch) {
  return torch.knows_memory_snapshot || torch_minor(torch) >= 8;
}

std::string default_file(const ProcessFacts& facts) {
  return fmt::format("/tmp/libkineto_activities_{}.json", facts.namespace_pid);
}

std::string default_snapshot(const ProcessFacts& facts) {
  return fmt::format("/tmp/memory_snapshot_{}.pickle", facts.namespace_pid);
}

// From PyTorch 2.14 on: only below one directory, and never with "..".
std::string allowed_directory(const ProcessFacts& facts) {
  std::string directory = facts.ondemand_trace_dir.empty() ? "/tmp/" : facts.ondemand_trace_dir;
  if (!directory.ends_with('/')) directory += '/';
  return directory;
}

bool is_obeyed(std::string_view path, const ProcessFacts& facts, const TorchFacts& torch) {
  if (!torch.knows_ondemand_trace_dir) return true;
  return path.starts_with(allowed_directory(facts)) && path.find("..") == std::string_view::npos;
}

// An unknown version is taken for a recent one.
bool carries_trace_id(const TorchFacts& torch) {
  return torch.knows_trace_id || torch.version.empty();
}

// What will not be as the person who asks may expect.
void add_notes(const TorchFacts& torch, TraceRequest& request) {
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
}

Nanoseconds default_lead(const TorchFacts& torch) {
  const bool torch_2_0 = torch.version.starts_with("2.0.");
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
  if (options.iterations > 0 && options.iteration_roundup < 1) {
    return fail(ErrorKind::invalid,
                fmt::format("--profile-start-iteration-roundup {}: must be 1 or more",
                            options.iteration_roundup));
  }
  if (options.iterations == 0) return {};
  return in_range("PROFILE_START_ITERATION_ROUNDUP", options.iteration_roundup);
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

std::string content_lines(const TraceOptions& options) {
  std::string lines = flag_line("PROFILE_REPORT_INPUT_SHAPES", options.record_shapes);
  if (options.profile_memory) lines += flag_line("PROFILE_PROFILE_MEMORY", true);
  lines += flag_line("PROFILE_WITH_STACK", options.with_stacks);
  lines += flag_line("PROFILE_WITH_FLOPS", options.with_flops);
  lines += flag_line("PROFILE_WITH_MODULES", options.with_modules);
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
  const std::string_view text = trim(line);
  if (clean_text(text, text.size() + 3) != text) {
    return fail(ErrorKind::invalid, "holds control characters or is not UTF-8");
  }
  if (text.empty() || text.starts_with('#')) return {};
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorKind::invalid, "\"" + clean_text(text, 80) + "\" is not KEY=VALUE");
  }
  const std::string_view name = trim(text.substr(0, equals));
  const std::string_view value = trim(text.substr(equals + 1));
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
                                         std::string_view unique_suffix) {
  if (auto ok = check_trace_path(options.log_file); !ok) return std::unexpected(ok.error());
  if (auto ok = check_options(options); !ok) return std::unexpected(ok.error());
  if (auto ok = check_further(options, torch); !ok) return std::unexpected(ok.error());

  const std::int64_t warmup_s = options.warmup_s.value_or(facts.holds_gpu ? 1 : 0);
  std::string path = options.log_file;
  if (!unique_suffix.empty()) path = with_insertion(path, unique_suffix);
  TraceRequest request;
  request.memory_snapshot = options.profile_memory && knows_snapshot(torch);
  if (request.memory_snapshot) {
    if (!facts.holds_gpu) {
      return fail(ErrorKind::invalid,
                  "a memory snapshot needs a process that holds a GPU: without one no file comes, "
                  "and a thread of the process would spin for the rest of the job");
    }
    path = snapshot_name(path, facts.namespace_pid);
    request.file = is_obeyed(path, facts, torch) ? path : default_snapshot(facts);
    // Sets a path of its own, so it stands before ours.
    request.config =
        fmt::format("PROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS={}\n", options.duration_ms);
  } else {
    // Kineto adds the pid only before a ".json".
    if (path.find(kJson) == std::string::npos)
      path = fmt::format("{}_{}", path, facts.namespace_pid);
    WhereWritten where = where_written(path, facts, torch);
    request.file = std::move(where.path);
    if (!where.note.empty()) request.notes.push_back(std::move(where.note));
  }
  request.config += fmt::format("ACTIVITIES_LOG_FILE={}\n", path);
  request.config += timing_lines(options, warmup_s);
  request.config += content_lines(options);
  request.trace_id = std::move(trace_id);
  request.warmup = std::chrono::seconds(warmup_s);
  request.window = Milliseconds(options.duration_ms);
  request.iterations = options.iterations;
  request.default_lead = default_lead(torch);
  request.carries_trace_id = carries_trace_id(torch);
  if (options.iterations == 0) {
    if (options.start_time_ms > 0) {
      request.asked_start = WallTime(Milliseconds(options.start_time_ms));
    } else {
      request.start_lead = request.warmup + kStartMargin;
    }
  }
  add_notes(torch, request);
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
  const auto path = read->values.find("ACTIVITIES_LOG_FILE");
  const bool named = path != read->values.end();
  request.memory_snapshot = read->flag("PROFILE_MEMORY") && knows_snapshot(torch);
  if (request.memory_snapshot) {
    const bool obeyed = named && read->path_stands && is_obeyed(path->second, facts, torch);
    request.file = obeyed ? path->second : default_snapshot(facts);
  } else {
    request.file = named ? where_written(path->second, facts, torch).path : default_file(facts);
  }
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

std::string kineto_file_name(std::string_view log_file, std::int32_t namespace_pid) {
  if (log_file.find(kJson) == std::string_view::npos) return std::string(log_file);
  return with_insertion(log_file, std::to_string(namespace_pid));
}

WhereWritten where_written(std::string_view log_file, const ProcessFacts& facts,
                           const TorchFacts& torch) {
  if (is_obeyed(log_file, facts, torch)) {
    return {kineto_file_name(log_file, facts.namespace_pid), ""};
  }
  const std::string path = default_file(facts);
  return {path, fmt::format("PyTorch {} writes on-demand traces only below {}, so this one goes to "
                            "{}; to change that, set KINETO_ONDEMAND_TRACE_DIR in the job's "
                            "environment",
                            torch.version.empty() ? "here" : clean_text(torch.version, 40),
                            clean_text(allowed_directory(facts), 200), path)};
}

}  // namespace dynolog
