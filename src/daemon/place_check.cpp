// Each place is looked at as the part that uses it would open it.
#include "daemon/place_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/own_file.h"
#include "base/unique_fd.h"
#include "daemon/own_directory.h"
#include "sinks/history/file_system.h"

namespace dynolog {
namespace {

const std::string& chosen(const std::string& option, const std::string& by_default) {
  return option.empty() ? by_default : option;
}

// Root may look at the options of a daemon that runs as somebody else, as the unprivileged service
// does: then it is that user's start that counts.
std::optional<uid_t> other_owner(const std::string& path) {
  struct stat info{};
  if (::geteuid() != 0 || ::stat(path.c_str(), &info) != 0 || info.st_uid == 0) return std::nullopt;
  return info.st_uid;
}

Status see_readable_directory(const std::string& path) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid() && ::faccessat(directory.get(), ".", X_OK, AT_EACCESS) == 0) return {};
  return fail_errno(errno, path);
}

Status see_history_directory(const std::string& path) {
  if (auto own = see_own_directory(path, "--history_dir"); !own) return own;
  const std::string why = history::unsuitable(nearest_existing(path));
  return why.empty() ? Status() : fail(ErrorKind::unavailable, why);
}

class Look {
 public:
  Look(const CommandLine& command, const DefaultPlaces& defaults)
      : command_(command), options_(command.options), defaults_(defaults) {}

  std::vector<std::string> run() {
    run_directory();
    if (!options_.log_file.empty()) {
      note("log_file", see_own_file(options_.log_file), "the log goes to stderr");
    }
    state_and_history();
    const JsonSinkOptions& json = options_.metrics.json;
    if (json.enabled && !json.file.empty()) {
      note("json_file", see_own_file(json.file), "the daemon runs without these lines");
    }
    const std::string& text_files = options_.metrics.collectors.textfile.directory;
    if (!text_files.empty()) {
      note("textfile_directory", see_readable_directory(text_files),
           "there are no metrics from files until it can be read");
    }
    return std::move(sentences_);
  }

 private:
  void note(std::string_view option, const Status& seen, std::string_view consequence) {
    if (seen) return;
    sentences_.push_back(fmt::format("{}: {}: as it is, {}", command_.as_given(option),
                                     seen.error().message, consequence));
  }

  void run_directory() {
    const std::string& path = chosen(options_.run_dir, defaults_.run_dir);
    if (const auto owner = other_owner(path)) {
      sentences_.push_back(
          fmt::format("{}: {} belongs to uid {}: a daemon of that user's starts "
                      "there, and none of root's",
                      command_.as_given("run_dir"), path, *owner));
    }
  }

  void state_and_history() {
    const HistoryOptions& history = options_.metrics.history;
    const bool in_state = history.enabled && history.directory.empty();
    const bool stores = options_.sessions.store_mb > 0;
    if (history.enabled && !in_state) {
      note("history_dir", see_history_directory(history.directory),
           "the history is in memory only");
    }
    if (!in_state && !stores) return;
    const std::string& path = chosen(options_.state_dir, defaults_.state_dir);
    const Status seen = path.empty()
                            ? fail(ErrorKind::unavailable, "neither XDG_STATE_HOME nor HOME is set")
                            : see_own_directory(path, "--state_dir");
    note("state_dir", seen,
         !in_state ? "traces that nobody fetches are not kept"
         : !stores ? "the history is in memory only"
                   : "traces that nobody fetches are not kept, and the history is in memory only");
    if (seen && in_state) {
      note("state_dir", see_history_directory(path + "/history"), "the history is in memory only");
    }
  }

  const CommandLine& command_;
  const Options& options_;
  const DefaultPlaces& defaults_;
  std::vector<std::string> sentences_;
};

}  // namespace

Status check_run_directory(const CommandLine& command, const DefaultPlaces& defaults) {
  const std::string& path = chosen(command.options.run_dir, defaults.run_dir);
  auto seen = see_own_directory(path, "--run_dir");
  if (seen || other_owner(path)) return {};
  return with_context(std::move(seen.error()), command.as_given("run_dir"));
}

std::vector<std::string> what_is_missing(const CommandLine& command,
                                         const DefaultPlaces& defaults) {
  return Look(command, defaults).run();
}

}  // namespace dynolog
