// Parsing of lists and pairs, and the two shapes of a request.
#include "cli/trace_options.h"

#include <fmt/format.h>

#include <limits>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr int kMaxRank = 1'000'000;
constexpr std::size_t kMaxRanks = 65'536;

Status append_ranks(std::string_view part, std::vector<int>& ranks) {
  const auto dash = part.find('-');
  const auto first = parse_number<int>(trim(part.substr(0, dash)));
  const auto last =
      dash == std::string_view::npos ? first : parse_number<int>(trim(part.substr(dash + 1)));
  if (!first || !last || *first < 0 || *last < *first || *last > kMaxRank ||
      ranks.size() + static_cast<std::size_t>(*last - *first) >= kMaxRanks) {
    return fail(ErrorKind::invalid,
                fmt::format("--rank: \"{}\" is no rank and no range such as 0,2,4-7",
                            clean_text(part, 40)));
  }
  for (int rank = *first; rank <= *last; ++rank) ranks.push_back(rank);
  return {};
}

Result<rpc::SelectionSpec> selection_of(const GputraceOptions& options) {
  rpc::SelectionSpec selection;
  if (!options.job_id.empty() && options.job_id != "0") selection.job = options.job_id;
  auto pids = parse_pids(options.pids);
  if (!pids) return std::unexpected(pids.error());
  selection.pids = std::move(*pids);
  auto ranks = parse_ranks(options.ranks);
  if (!ranks) return std::unexpected(ranks.error());
  selection.ranks = std::move(*ranks);
  selection.user = options.user;
  selection.command = options.command;
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

std::string window_text(const rpc::TraceSpec& trace) {
  if (trace.iterations > 0) {
    return fmt::format(
        "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP={}\nACTIVITIES_ITERATIONS={}\n",
        trace.iteration_roundup, trace.iterations);
  }
  return fmt::format("PROFILE_START_TIME={}\nACTIVITIES_DURATION_MSECS={}\n", trace.start_time_ms,
                     trace.duration_ms);
}

std::string config_text(const rpc::TraceSpec& trace) {
  std::string text = "ACTIVITIES_LOG_FILE=" + trace.log_file + "\n" + window_text(trace);
  text += fmt::format("PROFILE_REPORT_INPUT_SHAPES={}\n", trace.record_shapes);
  if (trace.profile_memory) {
    text += fmt::format(
        "PROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS={}\n",
        trace.duration_ms);
  }
  text += fmt::format("PROFILE_WITH_STACK={}\nPROFILE_WITH_FLOPS={}\nPROFILE_WITH_MODULES={}",
                      trace.with_stacks, trace.with_flops, trace.with_modules);
  if (trace.warmup_s) text += fmt::format("\nACTIVITIES_WARMUP_PERIOD_SECS={}", *trace.warmup_s);
  for (const auto& [key, value] : trace.set) text += fmt::format("\n{}={}", key, value);
  return text;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_pids(std::string_view text) {
  std::vector<std::int64_t> pids;
  if (trim(text).empty()) return pids;
  for (const std::string_view part : split(text, ',')) {
    const auto pid = parse_number<std::int64_t>(trim(part));
    if (!pid || *pid < 0) {
      return fail(ErrorKind::invalid,
                  fmt::format("--pids: \"{}\" is no pid (a list: 12,34)", clean_text(part, 40)));
    }
    pids.push_back(*pid);
  }
  if (pids.size() == 1 && pids.front() == 0) pids.clear();
  for (const std::int64_t pid : pids) {
    if (pid == 0) return fail(ErrorKind::invalid, "--pids: 0 means all and stands alone");
  }
  return pids;
}

Result<std::vector<int>> parse_ranks(std::string_view text) {
  std::vector<int> ranks;
  if (trim(text).empty()) return ranks;
  for (const std::string_view part : split(text, ',')) {
    if (const Status added = append_ranks(part, ranks); !added) {
      return std::unexpected(added.error());
    }
  }
  return ranks;
}

Result<rpc::PrepareRequest> prepare_request(const GputraceOptions& options,
                                            const std::string& working_directory) {
  rpc::PrepareRequest request;
  auto selection = selection_of(options);
  if (!selection) return std::unexpected(selection.error());
  request.selection = std::move(*selection);
  auto settings = settings_of(options.set);
  if (!settings) return std::unexpected(settings.error());
  rpc::TraceSpec& trace = request.trace;
  trace.set = std::move(*settings);
  trace.log_file = options.log_file;
  if (!trace.log_file.empty() && !trace.log_file.starts_with('/')) {
    std::string_view relative = trace.log_file;
    while (relative.starts_with("./")) relative.remove_prefix(2);
    trace.log_file =
        fmt::format("{}/{}", working_directory == "/" ? "" : working_directory, relative);
  }
  trace.duration_ms = options.duration_ms;
  trace.iterations = options.iterations > 0 ? options.iterations : 0;
  trace.iteration_roundup = options.iteration_roundup;
  trace.start_time_ms = options.start_time_ms;
  trace.warmup_s = options.warmup_s;
  trace.record_shapes = options.record_shapes;
  trace.profile_memory = options.profile_memory;
  trace.with_stacks = options.with_stacks;
  trace.with_flops = options.with_flops;
  trace.with_modules = options.with_modules;
  return request;
}

Result<rpc::LegacyTraceRequest> legacy_request(const rpc::PrepareRequest& request) {
  const rpc::SelectionSpec& selection = request.selection;
  if (!selection.ranks.empty() || selection.user || selection.command) {
    return fail(ErrorKind::invalid,
                "this existing daemon cannot select by --rank, --user or --cmd: use --pids or "
                "--job-id");
  }
  if (request.trace.log_file.empty()) {
    return fail(ErrorKind::invalid, "with this existing daemon --log-file is required");
  }
  rpc::LegacyTraceRequest legacy;
  if (selection.job) {
    const auto job = parse_number<std::int64_t>(*selection.job);
    if (!job) {
      return fail(ErrorKind::invalid, "this existing daemon only knows numbers as --job-id");
    }
    legacy.job_id = *job;
  }
  legacy.config = config_text(request.trace);
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
