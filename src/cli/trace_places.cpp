// --output, --log-file, or a directory of dyno's own.
#include "cli/trace_places.h"

#include <fmt/format.h>

#include <string_view>

#include "base/path_template.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cli/brought_names.h"
#include "cli/hint.h"
#include "cli/received_file.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxShown = 500;

std::string joined(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory == "/" ? "" : directory, name);
}

std::string absolute(const std::string& path, const std::string& working_directory) {
  if (path.starts_with('/')) return path;
  std::string_view relative = path;
  while (relative.starts_with("./")) relative.remove_prefix(2);
  if (relative.empty() || relative == ".") return working_directory;
  return joined(working_directory, relative);
}

}  // namespace

Status check_output(const std::string& output, const std::string& working_directory,
                    const std::optional<std::string>& log_file) {
  const bool is_file = output.ends_with(".json") || output.ends_with(".gz");
  if (!is_file || !directory_id(absolute(output, working_directory)).empty()) return {};
  const std::size_t slash = output.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : output.substr(0, slash);
  std::string instead = "--output " + shell_word(directory);
  if (log_file) {
    const std::string name =
        log_file->empty() ? as_pattern(file_name(output)) : std::string(*log_file);
    instead += " --log-file " + shell_word(name);
  }
  return fail(ErrorKind::invalid,
              fmt::format("--output: it names a directory for the files, and {} reads like a file: "
                          "write {} (or {}/ for a directory of that name)",
                          clean_text(output, kMaxShown), clean_text(instead, 2 * kMaxShown),
                          clean_text(output, kMaxShown)));
}

TracePlaces::TracePlaces(const GputraceOptions& options, const World& world)
    : working_directory_(world.working_directory),
      now_(world.clock.wall()),
      // A name that says so must not lie.
      gzip_(options.gzip || options.log_file.ends_with(".gz")),
      snapshot_(options.profile_memory),
      name_pattern_(file_name(options.log_file)) {}

Result<TracePlaces> TracePlaces::choose(const GputraceOptions& options, const World& world,
                                        bool local) {
  if (options.log_file.ends_with('/')) {
    return fail(ErrorKind::invalid,
                fmt::format("--log-file: {0} has no name of a file at its end: add one, such as "
                            "{0}trace.json",
                            clean_text(options.log_file, kMaxShown)));
  }
  TracePlaces places(options, world);
  if (!options.output.empty()) {
    auto made = TraceDirectory::at(absolute(options.output, world.working_directory));
    if (!made) return with_context(made.error(), "--output");
    places.directory_ = std::move(*made);
    places.bring_ = "always";
    return places;
  }
  if (!options.log_file.empty()) {
    if (const Status chosen = places.choose_log_file(options.log_file, local); !chosen) {
      return with_context(chosen.error(), "--log-file");
    }
    return places;
  }
  places.bring_ = "always";
  // Made when the first file comes, if one does.
  if (!options.follow.empty() || (!local && !options.wait)) return places;
  places.make_own_directory();
  if (!local || places.directory_.path().empty()) return places;
  places.bring_ = "needed";
  places.caller_directory_ = places.directory_.id();
  places.log_file_ = joined(as_pattern(places.directory_.path()), kDefaultName);
  return places;
}

Status TracePlaces::choose_log_file(const std::string& log_file, bool local) {
  if (!local && !log_file.starts_with('/')) {
    return fail(ErrorKind::invalid,
                "for another host an absolute path there; --output DIR brings the files here");
  }
  log_file_ =
      log_file.starts_with('/') ? log_file : absolute(log_file, as_pattern(working_directory_));
  const auto named = expand_path(log_file_, {});
  if (!named) return std::unexpected(named.error());
  if (!local) return {};
  // What follows here decides too where the job sees another directory: the file is brought then.
  const bool is_whole = !has_placeholders(log_file_) && !named->ends_with('/');
  if (is_whole && !directory_id(*named).empty()) {
    return fail(ErrorKind::invalid,
                fmt::format("{} is a directory: add the name of a file, such as {}",
                            clean_text(*named, kMaxShown),
                            clean_text(joined(*named, "trace.json"), kMaxShown)));
  }
  std::string directory = log_file_.substr(0, log_file_.rfind('/'));
  // One that is another for each process cannot be compared.
  if (has_placeholders(directory)) return {};
  auto beside = expand_path(directory, {});
  if (!beside) return std::unexpected(beside.error());
  if (beside->empty()) *beside = "/";
  bring_ = "other_view";
  caller_directory_ = directory_id(*beside);
  if (!caller_directory_.empty()) beside_ = *beside;
  return {};
}

void TracePlaces::make_own_directory() {
  auto made = TraceDirectory::make(working_directory_, now_);
  if (made) {
    directory_ = std::move(*made);
    problem_.clear();
  } else {
    problem_ = made.error().message;
  }
}

void TracePlaces::ask_for(rpc::TraceSpec& trace) const {
  trace.log_file = log_file_;
  trace.bring = bring_;
  trace.caller_directory = caller_directory_;
  trace.gzip = gzip_;
}

Status TracePlaces::name(const std::string& host, const std::vector<rpc::PlannedTrace>& planned) {
  auto names = brought_names({.pattern = name_pattern_,
                              .host = host,
                              .time = compact_utc(now_),
                              .snapshot = snapshot_,
                              .gzip = gzip_},
                             planned);
  if (!names) return std::unexpected(names.error());
  names_ = std::move(*names);
  return {};
}

Status TracePlaces::name_updates(const std::string& host,
                                 const std::vector<rpc::TraceUpdate>& updates) {
  std::vector<rpc::PlannedTrace> planned;
  for (const rpc::TraceUpdate& update : updates) {
    rpc::PlannedTrace& each = planned.emplace_back();
    each.pid = update.pid;
    each.namespace_pid = update.namespace_pid;
    each.rank = update.rank;
    each.local_rank = update.local_rank;
    each.job = update.job;
    snapshot_ |= update.file.ends_with(".pickle");
  }
  return name(host, planned);
}

std::string TracePlaces::path_of(std::int64_t pid) const {
  const std::string& directory = directory_.path().empty() ? beside_ : directory_.path();
  const auto name = names_.find(pid);
  if (directory.empty() || name == names_.end()) return "";
  return joined(directory, stored_name(name->second, gzip_));
}

Result<TracePlaces::Place> TracePlaces::place_of(std::int64_t pid) {
  const auto name = names_.find(pid);
  if (name == names_.end()) {
    return fail(ErrorKind::failed, fmt::format("process {} was not planned for", pid));
  }
  if (directory_.path().empty() && beside_.empty()) make_own_directory();
  const std::string& directory = directory_.path().empty() ? beside_ : directory_.path();
  if (directory.empty()) return fail(ErrorKind::failed, problem_);
  return Place{directory, name->second, gzip_};
}

}  // namespace dynolog
