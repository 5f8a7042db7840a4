// The table of Kineto's keys and the checks of their values.
#include "profiling/trace_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/number.h"
#include "base/text.h"
#include "processes/torch_version.h"

namespace dynolog {
namespace {

using Type = TraceKeyType;

constexpr std::int64_t kInt32 = 2147483647;
constexpr std::int64_t kDayMs = 86400LL * 1000;
constexpr std::int64_t kYear2100Ms = 4102444800LL * 1000;

constexpr TraceKey flag(std::string_view name, std::string_view default_value, int since = 0,
                        std::string_view option = "") {
  return {name, Type::boolean, 0, 0, default_value, since, option};
}
constexpr TraceKey number(std::string_view name, std::int64_t least, std::int64_t most,
                          std::string_view default_value, int since = 0,
                          std::string_view option = "") {
  return {name, Type::number, least, most, default_value, since, option};
}
constexpr TraceKey text(std::string_view name, int since = 0, std::string_view option = "") {
  return {name, Type::text, 0, 0, "", since, option};
}

constexpr std::array kKeys = {
    TraceKey{"ACTIVITIES_LOG_FILE", Type::path, 0, 0, "", 0, "--log-file"},
    number("ACTIVITIES_DURATION_MSECS", 1, kDayMs, "500", 0, "--duration-ms"),
    number("ACTIVITIES_DURATION_SECS", 1, kDayMs / 1000, "", 0, "--duration-ms"),
    number("ACTIVITIES_ITERATIONS", 0, kInt32, "0", 0, "--iterations"),
    number("ACTIVITIES_WARMUP_ITERATIONS", 0, kInt32, "0"),
    number("ACTIVITIES_WARMUP_PERIOD_SECS", 0, 3600, "5", 0, "--warmup"),
    number("PROFILE_START_ITERATION", 0, kInt32, "", 0, "--iterations"),
    number("PROFILE_START_ITERATION_ROUNDUP", 0, kInt32, "", 0,
           "--profile-start-iteration-roundup"),
    number("PROFILE_START_TIME", 0, kYear2100Ms, "0", 0, "--profile-start-time"),
    TraceKey{"ACTIVITY_TYPES", Type::activity_types, 0, 0, "", 0, "--activity-types"},
    flag("ACTIVITIES_ENABLED", "true"),
    number("ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", 1, 1 << 20, "128", 0, "--buffer-mb"),
    flag("ACTIVITIES_DISPLAY_CUDA_SYNC_WAIT_EVENTS", "true", 1),
    flag("CLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION", "false"),
    flag("PYTHON_STACK_TRACE", "false"),
    flag("PROFILE_REPORT_INPUT_SHAPES", "false", 1, "--record-shapes"),
    flag("PROFILE_PROFILE_MEMORY", "false", 1, "--profile-memory"),
    flag("PROFILE_WITH_STACK", "false", 1, "--with-stacks"),
    flag("PROFILE_WITH_FLOPS", "false", 1, "--with-flops"),
    flag("PROFILE_WITH_MODULES", "false", 1, "--with-modules"),
    flag("PROFILE_MEMORY", "false", 8, "--profile-memory"),
    number("PROFILE_MEMORY_DURATION_MSECS", 0, kDayMs, "1000", 8, "--profile-memory"),
    TraceKey{"REQUEST_TRACE_ID", Type::text, 0, 0, "", 0, "the session"},
    text("REQUEST_GROUP_TRACE_ID", 6),
    flag("CUPTI_PER_THREAD_BUFFER_ENABLED", "false", 7),
    number("ROCTRACER_MAX_EVENTS", 1, kInt32, "5000000", 8),
    text("CUSTOM_CONFIG", 8),
    text("PERFORMANCE_METRICS", 15, "--cupti-pm-sampling-metrics"),
    number("PERFORMANCE_METRICS_DEVICE_ID", 0, 1023, "", 15, "--cupti-pm-sampling-device"),
    // What the two were called before a release had them.
    text("CUPTI_PM_SAMPLING_METRICS", 15, "--cupti-pm-sampling-metrics"),
    number("CUPTI_PM_SAMPLING_DEVICE_ID", 0, 1023, "", 15, "--cupti-pm-sampling-device"),
    text("CUPTI_PROFILER_METRICS"),
    flag("CUPTI_PROFILER_ENABLE_PER_KERNEL", "false"),
    number("CUPTI_PROFILER_MAX_RANGES", 0, kInt32, ""),
    number("VERBOSE_LOG_LEVEL", 0, 10, ""),
    text("VERBOSE_LOG_MODULES"),
};

constexpr bool names_are_unique() {
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    for (std::size_t j = i + 1; j < kKeys.size(); ++j) {
      if (kKeys[i].name == kKeys[j].name) return false;
    }
  }
  return true;
}
static_assert(names_are_unique());

struct ActivityType {
  std::string_view name;
  bool by_default = false;  // recorded when a request names none
  int since_minor = 0;      // of torch 2; where no one knows, the first that is known to have it
  int last_minor = 0;       // 0: still there
};
constexpr std::array<ActivityType, 30> kActivityTypes = {{
    {"cpu_op", true},
    {"user_annotation", true},
    {"gpu_user_annotation", true},
    {"gpu_memcpy", true},
    {"gpu_memset", true},
    {"kernel", true},
    {"external_correlation", true},
    {"cuda_runtime", true},
    {"cuda_driver", true, 1},
    {"cpu_instant_event", true},
    {"python_function", true},
    {"overhead", true},
    {"mtia_runtime", true, 3},
    {"mtia_ccp_events", true, 3},
    {"mtia_insight", true, 12},
    {"cuda_sync", true, 3},
    {"cuda_event", true, 12},
    {"mtia_counters", true, 13},
    {"glow_runtime"},
    {"cuda_profiler_range"},
    {"hpu_op"},
    {"xpu_runtime", false, 3},
    {"xpu_driver", false, 12},
    {"collective_comm", false, 3},
    {"mtia_workloadd", false, 3, 7},
    {"privateuse1_runtime", false, 4},
    {"privateuse1_driver", false, 4},
    {"xpu_scope_profiler", false, 13},
    {"xpu_sync", false, 14},
    {"hardware_counters", false, 15},
}};

bool is_known(const ActivityType& type, const TorchFacts& torch) {
  const int minor = torch_minor(torch);
  if (minor == 0 && !torch.version.starts_with("2.0")) return true;  // not known: nobody can tell
  return minor >= type.since_minor && (type.last_minor == 0 || minor <= type.last_minor);
}

std::unexpected<Error> wrong(const TraceKey& key, std::string_view what) {
  return fail(ErrorKind::invalid, fmt::format("{}: {}", key.name, what));
}

Status check_boolean(const TraceKey& key, std::string_view value) {
  constexpr std::array<std::string_view, 10> kWords = {"y",    "yes",   "n", "no", "t",
                                                       "true", "false", "f", "1",  "0"};
  if (std::ranges::find(kWords, lower(value)) != kWords.end()) return {};
  return wrong(key, fmt::format("\"{}\" is neither true nor false", clean_text(value, 60)));
}

Status check_number(const TraceKey& key, std::string_view value) {
  const auto parsed = parse_number<std::int64_t>(value);
  if (parsed && *parsed >= key.least && *parsed <= key.most) return {};
  return wrong(key, fmt::format("\"{}\" is not a whole number from {} to {}", clean_text(value, 60),
                                key.least, key.most));
}

Status check_types(const TraceKey& key, std::string_view value, const TorchFacts& torch) {
  for (const std::string_view piece : split(value, ',')) {
    const std::string name = lower(trim(piece));
    if (name.empty()) continue;
    if (auto ok = check_activity_type(name, torch); !ok) return wrong(key, ok.error().message);
  }
  return {};
}

// What the library's own strings prove counts more than its version.
bool proven_by_library(const TraceKey& key, const TorchFacts& torch) {
  if (key.name.starts_with("PROFILE_MEMORY")) return torch.knows_memory_snapshot;
  if (key.name.starts_with("PROFILE_WITH_")) return torch.knows_modules_and_stacks;
  return false;
}

Status check_version(const TraceKey& key, std::string_view value, const TorchFacts& torch) {
  const int minor = torch_minor(torch);
  const bool at_work = !value.empty() && lower(value) != key.default_value &&
                       (key.type != Type::boolean || is_true(value) != is_true(key.default_value));
  if (key.since_minor == 0 || torch.version.empty() || minor >= key.since_minor || !at_work ||
      proven_by_library(key, torch)) {
    return {};
  }
  return wrong(key, fmt::format("needs torch 2.{} or newer; the process has {}", key.since_minor,
                                clean_text(torch.version, 40)));
}

}  // namespace

const TraceKey* find_trace_key(std::string_view name) {
  const auto* const found = std::ranges::find(kKeys, name, &TraceKey::name);
  return found == kKeys.end() ? nullptr : found;
}

std::string unknown_trace_key(std::string_view name) {
  std::vector<std::string> names;
  for (const TraceKey& key : kKeys) names.emplace_back(key.name);
  const std::string near = nearest(name, names);
  return fmt::format("{}: Kineto knows no such key{}", clean_text(name, 80),
                     near.empty() ? "" : "; did you mean " + near + "?");
}

bool is_true(std::string_view value) {
  const std::string word = lower(value);
  return word == "y" || word == "yes" || word == "t" || word == "true" || word == "1";
}

Status check_activity_type(std::string_view name, const TorchFacts& torch) {
  std::vector<std::string> known;
  for (const ActivityType& type : kActivityTypes) {
    if (is_known(type, torch)) known.emplace_back(type.name);
  }
  if (std::ranges::find(known, name) != known.end()) return {};
  const std::string near = nearest(name, known);
  const auto* const other = std::ranges::find(kActivityTypes, name, &ActivityType::name);
  const std::string library = torch.version.empty() ? "Kineto" : "torch " + torch.version;
  return fail(ErrorKind::invalid,
              fmt::format("{} \"{}\"{}; {} knows {}",
                          other == kActivityTypes.end() ? "unknown activity type"
                                                        : "this version knows no activity type",
                          clean_text(name, 60), near.empty() ? "" : "; did you mean " + near + "?",
                          clean_text(library, 40), fmt::join(known, ", ")));
}

std::vector<std::string> default_activity_types() {
  std::vector<std::string> names;
  for (const ActivityType& type : kActivityTypes) {
    if (type.by_default) names.emplace_back(type.name);
  }
  return names;
}

Status check_trace_value(const TraceKey& key, std::string_view value, const TorchFacts& torch) {
  if (value.find_first_of("=#") != std::string_view::npos) {
    return wrong(key, "Kineto would cut or drop a value with '=' or '#'");
  }
  if (!is_clean(value)) {
    return wrong(key, "the value holds control characters or is not UTF-8");
  }
  Status status;
  switch (key.type) {
    case Type::boolean:
      status = check_boolean(key, value);
      break;
    case Type::number:
      status = check_number(key, value);
      break;
    case Type::activity_types:
      status = check_types(key, value, torch);
      break;
    case Type::path:
      status = check_trace_path(value);
      if (!status) return wrong(key, status.error().message);
      break;
    case Type::text:
      break;
  }
  if (!status) return status;
  return check_version(key, value, torch);
}

Status check_trace_path(std::string_view path) {
  constexpr std::size_t kMaxPath = 4000;
  constexpr std::size_t kMaxName = 200;  // of 255: a pid, a suffix and ".tmp" are added
  const auto bad = [](std::string_view what) {
    return fail(ErrorKind::invalid, "the trace file's path " + std::string(what));
  };
  if (path.empty()) return bad("is empty");
  if (path.size() > kMaxPath) return bad("is longer than 4000 bytes");
  if (path.find('=') != std::string_view::npos) {
    return bad("holds '=': Kineto drops such a request");
  }
  if (path.find('#') != std::string_view::npos) {
    return bad("holds '#': Kineto takes the rest for a comment");
  }
  if (path.find_first_of("\"'") != std::string_view::npos) return bad("holds a quote");
  if (!is_clean(path)) {
    return bad("holds control characters or is not UTF-8");
  }
  if (trim(path) != path) return bad("begins or ends with a blank, which Kineto cuts off");
  if (!path.starts_with('/')) return bad("is not absolute");
  if (path.find("..") != std::string_view::npos) return bad("holds \"..\", which Kineto ignores");
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  if (name.empty() || name == ".") return bad("names a directory, not a file");
  if (name.size() > kMaxName) return bad("has a file name longer than 200 bytes");
  if (path.substr(0, slash + 1).find(".json") != std::string_view::npos) {
    return bad("has \".json\" in a directory's name: Kineto would put the pid there");
  }
  return {};
}

int torch_minor(const TorchFacts& torch) {
  const auto version = torch_version(torch.version);
  return version && version->major == 2 ? version->minor : 0;
}

}  // namespace dynolog
