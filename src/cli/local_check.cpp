// Opened without following anybody's tricks: only regular files, never waiting.
#include "cli/local_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "cli/connection.h"
#include "traces/snapshot_check.h"
#include "traces/trace_check.h"

namespace dynolog {
namespace {

std::string id_of(const struct stat& info) {
  return fmt::format("{}:{}", info.st_dev, info.st_ino);
}

WallTime modified(const struct stat& info) {
  return WallTime(std::chrono::seconds(info.st_mtim.tv_sec) + Nanoseconds(info.st_mtim.tv_nsec));
}

// Where the file may be for dyno: where it put it, where the daemon saw it, or where it was
// planned.
std::string place_of(const LookAround& around, const TraceOutcome& outcome,
                     const rpc::TraceUpdate& update) {
  const Fetched* fetched = fetched_of(outcome, update.pid);
  if (fetched != nullptr) return fetched->path;
  if (!around.local || update.location == "daemon" || update.location == "caller") return "";
  if (!update.file.empty()) return update.file;
  const rpc::PlannedTrace* planned = plan_of(outcome, update.pid);
  return planned == nullptr ? "" : planned->file;
}

struct Opened {
  UniqueFd fd;
  struct stat info{};
};

Opened open_regular(const std::string& path) {
  Opened opened;
  if (path.empty()) return opened;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() || ::fstat(fd.get(), &opened.info) != 0) return opened;
  if (S_ISREG(opened.info.st_mode)) opened.fd = std::move(fd);
  return opened;
}

// It carries no id: that it is the file asked about is all there is.
void check_pickle(const Opened& opened, rpc::TraceUpdate& update) {
  const auto summary = check_snapshot(opened.fd.get());
  if (!summary) return;
  update.checked = update.ours = true;
  update.whole = summary->whole;
  update.problem = summary->problem;
  update.summary = *summary;
}

void check_trace(const LookAround& around, const Opened& opened, rpc::TraceUpdate& update) {
  bool interrupted = false;
  const auto summary = summarise_trace(opened.fd.get(), [&] {
    if (interrupted || around.interrupt_fd < 0 ||
        !wait_interruptibly(around.interrupt_fd, around.clock, around.clock.monotonic())) {
      return;
    }
    interrupted = true;
    // The check goes on to the file's end, which is here from now on.
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup3(nothing.get(), opened.fd.get(), O_CLOEXEC);
  });
  if (!summary || interrupted) return;
  // Clients from before trace ids write none; that the file is new is then all there is.
  const bool nameless = summary->trace_id.empty();
  if (nameless && around.since == WallTime{}) return;
  update.checked = true;
  update.whole = summary->whole;
  update.ours =
      nameless ? modified(opened.info) >= around.since : summary->trace_id == update.trace_id;
  update.problem = summary->problem;
  if (update.whole && !update.ours) update.problem = "the file is of another trace";
  update.summary = *summary;
}

// Whether the update's file is, for dyno, the one that the daemon means.
bool is_visible(const rpc::TraceUpdate& update) {
  struct stat info{};
  return !update.file.empty() && ::stat(update.file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         (update.file_id.empty() || id_of(info) == update.file_id);
}

}  // namespace

void mark_places(const std::string& host, TraceOutcome& outcome) {
  outcome.elsewhere = host;
  if (!host.empty()) return;
  for (const rpc::TraceUpdate& update : outcome.updates) {
    if (update.location == "host" && !update.file.empty() && !is_visible(update)) {
      outcome.out_of_sight.insert(update.pid);
    }
  }
}

void check_what_is_visible(const LookAround& around, TraceOutcome& outcome) {
  for (rpc::TraceUpdate& update : outcome.updates) {
    if (!is_unchecked(update)) continue;
    const std::string path = place_of(around, outcome, update);
    const Opened opened = open_regular(path);
    if (!opened.fd.valid()) continue;
    const bool brought = fetched_of(outcome, update.pid) != nullptr;
    if (!brought && !update.file_id.empty() && id_of(opened.info) != update.file_id) continue;
    if (path.ends_with(".pickle")) {
      check_pickle(opened, update);
    } else {
      check_trace(around, opened, update);
    }
    if (!update.checked) continue;
    update.file = path;
    update.notes.emplace_back("checked by dyno, since the daemon could not look into it");
  }
}

}  // namespace dynolog
