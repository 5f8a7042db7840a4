// Parsing of lists and pairs, and the two shapes of a request.
#include "cli/trace_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/number.h"
#include "base/path_template.h"
#include "base/text.h"
#include "cli/brought_names.h"

namespace dynolog {
namespace {

constexpr int kMaxNumber = 1'000'000;
constexpr std::size_t kMaxNumbers = 65'536;

Status append_numbers(std::string_view option, std::string_view part, std::vector<int>& numbers) {
  const auto dash = part.find('-');
  const auto first = parse_number<int>(trim(part.substr(0, dash)));
  const auto last =
      dash == std::string_view::npos ? first : parse_number<int>(trim(part.substr(dash + 1)));
  if (!first || !last || *first < 0 || *last < *first || *last > kMaxNumber ||
      numbers.size() + static_cast<std::size_t>(*last - *first) >= kMaxNumbers) {
    return fail(ErrorKind::invalid,
                fmt::format("{}: \"{}\" is no number and no range such as 0,2,4-7", option,
                            clean_text(part, 40)));
  }
  for (int number = *first; number <= *last; ++number) numbers.push_back(number);
  return {};
}

Result<rpc::SelectionSpec> selection_of(const GputraceOptions& options) {
  rpc::SelectionSpec selection;
  if (!options.job_id.empty() && options.job_id != "0") selection.job = options.job_id;
  auto pids = parse_pids("--pids", options.pids);
  if (!pids) return std::unexpected(pids.error());
  selection.pids = std::move(*pids);
  auto ranks = parse_ranks("--rank", options.ranks);
  if (!ranks) return std::unexpected(ranks.error());
  selection.ranks = std::move(ranks->ranks);
  if (std::ranges::any_of(ranks->worlds, [](int world) { return world > 0; })) {
    selection.rank_worlds = std::move(ranks->worlds);
  }
  auto gpus = parse_numbers("--gpu", options.gpus);
  if (!gpus) return std::unexpected(gpus.error());
  selection.gpus = std::move(*gpus);
  selection.user = options.user;
  selection.command = options.command;
  selection.container = options.container;
  selection.all = options.all;
  selection.process_limit = options.process_limit;
  return selection;
}

Result<std::vector<std::pair<std::string, std::string>>> settings_of(
    const std::vector<std::string>& set) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const std::string& each : set) {
    const auto equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::invalid,
                  fmt::format("--set: \"{}\" is not KEY=VALUE", clean_text(each, 80)));
    }
    settings.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
  return settings;
}

// Of what says when it begins, one at most.
Status check_start(const GputraceOptions& options) {
  if (options.start_time_ms > 0 && options.iterations > 0) {
    return fail(ErrorKind::invalid,
                "--profile-start-time and --iterations exclude each other: steps decide when those "
                "begin. Leave one out");
  }
  if (!options.start_in_s) return {};
  if (options.start_time_ms > 0) {
    return fail(ErrorKind::invalid, "--start-in and --profile-start-time exclude each other");
  }
  if (options.iterations > 0) {
    return fail(ErrorKind::invalid,
                "--start-in and --iterations exclude each other: steps decide when those begin");
  }
  return {};
}

Status put_content(const GputraceOptions& options, rpc::TraceSpec& trace) {
  auto settings = settings_of(options.set);
  if (!settings) return std::unexpected(settings.error());
  trace.set = std::move(*settings);
  auto types = parse_names("--activity-types", options.activity_types);
  if (!types) return std::unexpected(types.error());
  trace.activity_types = std::move(*types);
  auto metrics = parse_names("--cupti-pm-sampling-metrics", options.pm_sampling_metrics);
  if (!metrics) return std::unexpected(metrics.error());
  trace.pm_sampling_metrics = std::move(*metrics);
  trace.pm_sampling_device = options.pm_sampling_device;
  trace.buffer_mb = options.buffer_mb;
  trace.record_shapes = options.record_shapes;
  trace.profile_memory = options.profile_memory;
  trace.with_stacks = options.with_stacks;
  trace.with_flops = options.with_flops;
  trace.with_modules = options.with_modules;
  return {};
}

std::string window_text(const rpc::TraceSpec& trace) {
  if (trace.iterations > 0) {
    return fmt::format(
        "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP={}\nACTIVITIES_ITERATIONS={}\n",
        trace.iteration_roundup, trace.iterations);
  }
  return fmt::format("PROFILE_START_TIME={}\nACTIVITIES_DURATION_MSECS={}\n", trace.start_time_ms,
                     trace.duration_ms);
}

std::string config_text(const rpc::TraceSpec& trace, const std::string& log_file) {
  std::string text = "ACTIVITIES_LOG_FILE=" + log_file + "\n" + window_text(trace);
  text += fmt::format("PROFILE_REPORT_INPUT_SHAPES={}\n", trace.record_shapes);
  if (trace.profile_memory) {
    text += fmt::format(
        "PROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS={}\n",
        trace.duration_ms);
  }
  text += fmt::format("PROFILE_WITH_STACK={}\nPROFILE_WITH_FLOPS={}\nPROFILE_WITH_MODULES={}",
                      trace.with_stacks, trace.with_flops, trace.with_modules);
  if (trace.warmup_s) text += fmt::format("\nACTIVITIES_WARMUP_PERIOD_SECS={}", *trace.warmup_s);
  if (!trace.activity_types.empty()) {
    text += fmt::format("\nACTIVITY_TYPES={}", fmt::join(trace.activity_types, ","));
  }
  if (trace.buffer_mb)
    text += fmt::format("\nACTIVITIES_MAX_GPU_BUFFER_SIZE_MB={}", *trace.buffer_mb);
  // Under both of the names that the keys have had.
  for (const char* key : {"PERFORMANCE_METRICS", "CUPTI_PM_SAMPLING_METRICS"}) {
    if (trace.pm_sampling_metrics.empty()) continue;
    text += fmt::format("\n{}={}", key, fmt::join(trace.pm_sampling_metrics, ","));
  }
  for (const char* key : {"PERFORMANCE_METRICS_DEVICE_ID", "CUPTI_PM_SAMPLING_DEVICE_ID"}) {
    if (trace.pm_sampling_device) text += fmt::format("\n{}={}", key, *trace.pm_sampling_device);
  }
  for (const auto& [key, value] : trace.set) text += fmt::format("\n{}={}", key, value);
  return text;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_pids(std::string_view option, std::string_view text) {
  std::vector<std::int64_t> pids;
  if (trim(text).empty()) return pids;
  for (const std::string_view part : split(text, ',')) {
    const auto pid = parse_number<std::int64_t>(trim(part));
    if (!pid || *pid < 0) {
      return fail(ErrorKind::invalid, fmt::format("{}: \"{}\" is no pid (a list: 12,34)", option,
                                                  clean_text(part, 40)));
    }
    pids.push_back(*pid);
  }
  if (pids.size() == 1 && pids.front() == 0) pids.clear();
  for (const std::int64_t pid : pids) {
    if (pid != 0) continue;
    return fail(ErrorKind::invalid, fmt::format("{}: 0 means all and stands alone", option));
  }
  return pids;
}

Result<std::vector<int>> parse_numbers(std::string_view option, std::string_view text) {
  std::vector<int> numbers;
  if (trim(text).empty()) return numbers;
  for (const std::string_view part : split(text, ',')) {
    if (const Status added = append_numbers(option, part, numbers); !added) {
      return std::unexpected(added.error());
    }
  }
  return numbers;
}

Result<RankList> parse_ranks(std::string_view option, std::string_view text) {
  RankList list;
  if (trim(text).empty()) return list;
  for (const std::string_view part : split(text, ',')) {
    int of = 0;
    const auto slash = part.find('/');
    if (slash != std::string_view::npos) {
      const auto rank = parse_number<int>(trim(part.substr(0, slash)));
      const auto world = parse_number<int>(trim(part.substr(slash + 1)));
      if (!rank || !world || *rank < 0 || *rank >= *world) {
        return fail(ErrorKind::invalid,
                    fmt::format("{}: \"{}\" is no rank such as 3, or 3/8 as `dyno ps` shows it",
                                option, clean_text(part, 40)));
      }
      of = *world;
    }
    const Status added = append_numbers(option, part.substr(0, slash), list.ranks);
    if (!added) return std::unexpected(added.error());
    list.worlds.resize(list.ranks.size(), of);
  }
  return list;
}

Result<std::vector<std::string>> parse_names(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  if (trim(text).empty()) return names;
  for (const std::string_view part : split(text, ',')) {
    if (trim(part).empty()) {
      return fail(ErrorKind::invalid, fmt::format("{}: \"{}\" has an empty name in its list (a,b)",
                                                  option, clean_text(text, 80)));
    }
    names.emplace_back(trim(part));
  }
  return names;
}

Result<rpc::PrepareRequest> prepare_request(const GputraceOptions& options) {
  if (const Status good = check_start(options); !good) return std::unexpected(good.error());
  rpc::PrepareRequest request;
  auto selection = selection_of(options);
  if (!selection) return std::unexpected(selection.error());
  request.selection = std::move(*selection);
  rpc::TraceSpec& trace = request.trace;
  if (const Status content = put_content(options, trace); !content) {
    return std::unexpected(content.error());
  }
  trace.make_directories = options.make_directories;
  trace.duration_ms = options.duration_ms;
  trace.iterations = options.iterations > 0 ? options.iterations : 0;
  trace.iteration_roundup = options.iteration_roundup;
  trace.start_time_ms = options.start_time_ms;
  trace.start_in_s = options.start_in_s;
  trace.warmup_s = options.warmup_s;
  return request;
}

Result<rpc::LegacyTraceRequest> legacy_request(const rpc::PrepareRequest& request) {
  const rpc::SelectionSpec& selection = request.selection;
  if (!selection.ranks.empty() || selection.user || selection.command || !selection.gpus.empty() ||
      selection.container) {
    return fail(ErrorKind::invalid,
                "this existing daemon cannot select by --rank, --user, --cmd, --gpu or "
                "--container: use --pids or --job-id");
  }
  const rpc::TraceSpec& trace = request.trace;
  if (trace.log_file.empty() || trace.bring == "needed" || trace.bring == "always") {
    return fail(ErrorKind::invalid,
                "with this existing daemon --log-file is required: it brings no files");
  }
  // Of a name that ends in ".gz" such a daemon makes a plain file, as it always did.
  const bool gzip = trace.gzip && !trace.log_file.ends_with(".gz");
  if (has_placeholders(trace.log_file) || trace.make_directories || gzip || trace.start_in_s) {
    return fail(ErrorKind::invalid,
                "this existing daemon cannot fill in {...} in --log-file, and does not know "
                "--mkdir, --gzip and --start-in");
  }
  rpc::LegacyTraceRequest legacy;
  if (selection.job) {
    const auto job = parse_number<std::int64_t>(*selection.job);
    if (!job) {
      return fail(ErrorKind::invalid, "this existing daemon only knows numbers as --job-id");
    }
    legacy.job_id = *job;
  }
  const auto log_file = expand_path(trace.log_file, {});
  if (!log_file) return std::unexpected(log_file.error());
  legacy.config = config_text(trace, *log_file);
  legacy.pids = selection.pids.empty() ? std::vector<std::int64_t>{0} : selection.pids;
  legacy.process_limit = selection.process_limit > 0 ? selection.process_limit
                                                     : std::numeric_limits<std::int32_t>::max();
  return legacy;
}

std::string legacy_file_name(std::string_view log_file, std::int64_t pid) {
  constexpr std::string_view kSuffix = ".json";
  std::string name;
  for (std::size_t at = 0; at < log_file.size();) {
    if (log_file.substr(at).starts_with(kSuffix)) {
      name += fmt::format("_{}{}", pid, kSuffix);
      at += kSuffix.size();
    } else {
      name += log_file[at++];
    }
  }
  return name;
}

}  // namespace dynolog
