// Choosing where a trace is written, and where it is to lie.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/path_template.h"
#include "base/text.h"
#include "profiling/kineto_paths.h"
#include "profiling/trace_config.h"
#include "profiling/trace_keys.h"

namespace dynolog {
namespace {

// The user's own path, for the file system alone.
Status check_target(std::string_view path) {
  constexpr std::size_t kMaxPath = 4000;
  constexpr std::size_t kMaxName = 240;  // of 255: ".gz", and ".json" beside it, are added
  const auto bad = [](std::string_view what) {
    return fail(ErrorKind::invalid, fmt::format("the trace file's path {}", what));
  };
  if (!path.starts_with('/')) return bad("is not absolute: it begins with '/'");
  if (path.size() > kMaxPath) return bad("is longer than 4000 bytes");
  if (!is_clean(path)) {
    return bad("holds control characters or is not UTF-8");
  }
  const std::vector<std::string_view> parts = split(path, '/');
  if (std::ranges::find(parts, "..") != parts.end()) {
    return bad("holds \"..\": write the directory that is meant");
  }
  if (parts.back().empty() || parts.back() == ".") return bad("names a directory, not a file");
  if (parts.back().size() > kMaxName) return bad("has a file name longer than 240 bytes");
  return {};
}

PathValues values_of(const ProcessFacts& facts, const PlaceNames& names) {
  const std::string& job = facts.job.job.value;
  return {.rank = facts.job.rank,
          .local_rank = facts.job.local_rank,
          .host = names.host,
          .pid = facts.namespace_pid,
          .job = job.empty() ? "none" : job,
          .time = names.time};
}

Status set_target(const TraceOptions& options, const ProcessFacts& facts, const PlaceNames& names,
                  bool snapshot, TracePlace& place) {
  // A pid may follow: what the pattern itself names is looked at before.
  if (auto ok = check_target(options.log_file); !ok) return ok;
  const PathValues values = values_of(facts, names);
  auto path = process_path(options.log_file, values);
  if (!path) return std::unexpected(path.error());
  if (!names.unique_suffix.empty()) *path = with_insertion(*path, names.unique_suffix);
  if (snapshot) *path = snapshot_path(*path);
  if (auto ok = check_target(*path); !ok) return ok;
  auto named = expand_path(options.log_file, values);
  if (!named) return std::unexpected(named.error());
  if (*named != *path) place.named = *std::move(named);
  place.target = *std::move(path);
  return {};
}

std::string directory_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

std::string without_slash(std::string_view directory) {
  return std::string(directory.size() > 1 ? directory.substr(0, directory.size() - 1) : directory);
}

// What Kineto makes of `place.log_file`.
void set_files(TracePlace& place, bool snapshot, const ProcessFacts& facts,
               const TorchFacts& torch) {
  WhereWritten where = where_written(place.log_file, snapshot, facts, torch);
  place.file = std::move(where.path);
  place.elsewhere = std::move(where.elsewhere);
}

// Where every version writes: of one that is not known, what the newest obeys.
std::string safe_directory(const std::string& name, const ProcessFacts& facts,
                           const TorchFacts& torch) {
  const std::string& asked = facts.ondemand_trace_dir;
  const bool counts = restricts_directory(torch) || torch.version.empty();
  if (asked.empty() || !counts || !check_trace_path(allowed_directory(facts) + name)) {
    return "/tmp/";
  }
  return allowed_directory(facts);
}

std::string restriction(const ProcessFacts& facts, const TorchFacts& torch) {
  return fmt::format("{} writes on-demand traces only below {}", torch_name(torch),
                     clean_text(allowed_directory(facts), 200));
}

// Why Kineto cannot be told to write `log_file`; "" when it can.
std::string obstacle(const std::string& log_file, const ProcessFacts& facts,
                     const TorchFacts& torch) {
  if (auto ok = check_trace_path(log_file); !ok) return ok.error().message;
  return obeys_path(log_file, facts, torch) ? "" : restriction(facts, torch);
}

std::string moved_note(const TracePlace& place, const std::string& why, const ProcessFacts& facts,
                       const TorchFacts& torch) {
  const std::string wanted = directory_of(place.target);
  std::string note = fmt::format("{}: this one is written to {} first and moved afterwards", why,
                                 without_slash(directory_of(place.file)));
  // Kineto can be told to write there at once.
  if (check_trace_path(wanted + "x") && restricts_directory(torch) &&
      !obeys_path(wanted + "x", facts, torch)) {
    note += fmt::format("; KINETO_ONDEMAND_TRACE_DIR={} in the job's environment avoids the copy",
                        without_slash(wanted));
  }
  return note;
}

// Kineto adds "_PID" before the first ".json" by itself: once is enough.
std::string without_own_pid(const std::string& path, std::int32_t namespace_pid) {
  std::size_t at = path.find(".pt.trace.json");
  if (at == std::string::npos) at = path.find(".json");
  const std::string pid = fmt::format("_{}", namespace_pid);
  if (at == std::string::npos || !path.substr(0, at).ends_with(pid)) return path;
  return path.substr(0, at - pid.size()) + path.substr(at);
}

}  // namespace

Result<TracePlace> place_trace(const TraceOptions& options, const ProcessFacts& facts,
                               const TorchFacts& torch, const PlaceNames& names) {
  const bool snapshot = options.profile_memory && knows_snapshot(torch);
  const std::string name = fmt::format("dynolog-{}.{}", names.unique, snapshot ? "pickle" : "json");
  TracePlace place;
  std::string why;
  if (options.log_file.empty()) {
    place.log_file = safe_directory(name, facts, torch) + name;
  } else {
    if (auto set = set_target(options, facts, names, snapshot, place); !set) {
      return std::unexpected(set.error());
    }
    place.log_file = directory_of(place.target) + name;
    why = obstacle(place.log_file, facts, torch);
    if (!why.empty()) place.log_file = safe_directory(name, facts, torch) + name;
  }
  set_files(place, snapshot, facts, torch);
  if (!why.empty()) place.note = moved_note(place, why, facts, torch);
  return place;
}

Result<TracePlace> place_trace_itself(const TraceOptions& options, const ProcessFacts& facts,
                                      const TorchFacts& torch, const PlaceNames& names) {
  const bool snapshot = options.profile_memory && knows_snapshot(torch);
  if (options.log_file.empty()) {
    return fail(ErrorKind::invalid, "a path is needed for the file: --log-file PATH");
  }
  TracePlace place;
  place.in_place = true;
  if (auto set = set_target(options, facts, names, snapshot, place); !set) {
    return std::unexpected(set.error());
  }
  place.log_file = snapshot ? place.target : without_own_pid(place.target, facts.namespace_pid);
  if (auto ok = check_trace_path(place.log_file); !ok) {
    return fail(ErrorKind::invalid,
                ok.error().message +
                    "; nobody but the process can write in this directory, so choose a path that "
                    "Kineto understands, or let --output bring the file");
  }
  if (!obeys_path(place.log_file, facts, torch)) {
    return fail(ErrorKind::invalid,
                fmt::format("{}: choose a path there, or set KINETO_ONDEMAND_TRACE_DIR={} in the "
                            "job's environment",
                            restriction(facts, torch), without_slash(directory_of(place.target))));
  }
  set_files(place, snapshot, facts, torch);
  place.target = place.file;
  if (place.file.ends_with(".gz")) {
    place.note = "Kineto writes the file itself and does not compress it, whatever its name says";
  }
  return place;
}

}  // namespace dynolog
