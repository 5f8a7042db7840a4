// From names in a directory to "temporary", "written" and "unwatchable".
#include "workers/trace_watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace dynolog {
namespace {

std::string temporary_name(const TraceDirectory& directory) { return directory.name + ".tmp"; }

// What the streaming check says, seen against the id that was asked for.
FileCheck judge(const TraceSummary& summary, const std::string& trace_id) {
  FileCheck check;
  check.checked = true;
  check.whole = summary.whole;
  check.ours = trace_id.empty() || summary.trace_id == trace_id;
  check.events = summary.events;
  check.bytes = summary.bytes;
  check.trace_id = summary.trace_id;
  if (!summary.whole) {
    check.problem = summary.problem;
  } else if (!check.ours && summary.trace_id.empty()) {
    check.problem = "the file carries no trace id: it is not the trace that was asked for";
  } else if (!check.ours) {
    check.problem = fmt::format("the file is another trace's (id {}, asked for {})",
                                summary.trace_id, trace_id);
  }
  return check;
}

}  // namespace

void TraceWatcher::watch(Pid pid, TraceDirectory directory, std::string trace_id, bool snapshot) {
  unwatch(pid);
  // The stamp first: a file renamed into place after it is ours, and the look below sees it.
  auto before = stamp_of(directory, directory.name);
  const auto watch = directories_.add(directory.fd.get());
  if (!watch) {
    tell_unwatchable(
        pid, fmt::format("{} cannot be watched: {}", directory.path, watch.error().message));
    return;
  }
  Waiting& waiting = waiting_[pid];
  waiting = {.directory = std::move(directory),
             .trace_id = std::move(trace_id),
             .watch = *watch,
             .before = before,
             .snapshot = snapshot,
             .temporary_told = false,
             .renamed_told = false,
             .refused_told = false};
  if (before) {
    look_at_earlier(pid, waiting);
    if (!waiting_.contains(pid)) return;
  }
  look(pid, waiting);
}

void TraceWatcher::unwatch(Pid pid) {
  const auto found = waiting_.find(pid);
  if (found == waiting_.end()) return;
  const int watch = found->second.watch;
  waiting_.erase(found);
  const bool shared = std::ranges::any_of(
      waiting_, [watch](const auto& other) { return other.second.watch == watch; });
  if (!shared) directories_.remove(watch);
}

void TraceWatcher::on_readable() {
  take_events();
  while (!events_.empty()) {
    const DirectoryEvent event = std::move(events_.front());
    events_.pop_front();
    on_event(event);
  }
}

// Also called in the middle of a long check: that other files are there is told at once, all else
// waits its turn.
void TraceWatcher::take_events() {
  for (DirectoryEvent& event : directories_.read()) {
    announce(event);
    events_.push_back(std::move(event));
  }
}

void TraceWatcher::announce(const DirectoryEvent& event) {
  if (event.what != DirectoryEvent::What::complete) return;
  for (auto& [pid, waiting] : waiting_) {
    if (event.watch != waiting.watch || event.name != waiting.directory.name) continue;
    const auto now = stamp_of(waiting.directory, waiting.directory.name);
    if (!now || now == waiting.before || std::exchange(waiting.renamed_told, true)) continue;
    tell_({.pid = pid, .what = FileEvent::What::renamed, .check = {}, .problem = {}});
  }
}

void TraceWatcher::on_event(const DirectoryEvent& event) {
  // Telling may end the waiting: go by pid.
  std::vector<Pid> concerned;
  for (const auto& [pid, waiting] : waiting_) {
    if (event.watch == waiting.watch || event.what == DirectoryEvent::What::overflow) {
      concerned.push_back(pid);
    }
  }
  for (const Pid pid : concerned) {
    Waiting& waiting = waiting_.at(pid);
    switch (event.what) {
      case DirectoryEvent::What::created:
        if (event.name == temporary_name(waiting.directory)) tell_temporary(pid, waiting);
        break;
      case DirectoryEvent::What::complete:
        if (event.name == waiting.directory.name) check_final(pid, waiting);
        break;
      case DirectoryEvent::What::gone:
        tell_unwatchable(pid, fmt::format("{} was removed or moved away: the trace cannot be seen",
                                          waiting.directory.path));
        break;
      case DirectoryEvent::What::overflow:
        look(pid, waiting);
        break;
    }
  }
}

// What may have come between the request and the watch.
void TraceWatcher::look(Pid pid, Waiting& waiting) {
  if (stamp_of(waiting.directory, temporary_name(waiting.directory))) tell_temporary(pid, waiting);
  const auto now = stamp_of(waiting.directory, waiting.directory.name);
  // Without the temporary that goes before it, a new file may still be under its writer's hands:
  // its completion is an event.
  if (now && now != waiting.before && now->bytes > 0) {
    const auto fd = open_trace(waiting.directory, owner_);
    if (fd) check_final(pid, waiting);
  }
}

// A file from before the watch counts when it carries our id: the daemon was away meanwhile.
void TraceWatcher::look_at_earlier(Pid pid, Waiting& waiting) {
  if (waiting.trace_id.empty()) return;
  const auto fd = open_trace(waiting.directory, owner_);
  if (!fd || !mentions(fd->get(), waiting.trace_id)) return;
  const auto summary = summarise_trace(fd->get());
  if (!summary || summary->trace_id != waiting.trace_id) return;
  tell_written(pid, judge(*summary, waiting.trace_id));
}

void TraceWatcher::check_final(Pid pid, Waiting& waiting) {
  const auto now = stamp_of(waiting.directory, waiting.directory.name);
  // Gone again, or the file from before. One that is there but was closed to us is opened below,
  // and what comes of that is told.
  if (!now && errno != EACCES) return;
  if (now && now == waiting.before) return;
  const auto summary = waiting.snapshot
                           ? check_snapshot(waiting.directory, owner_)
                           : check_trace(waiting.directory, owner_, [this] { take_events(); });
  if (summary) {
    tell_written(pid, judge(*summary, waiting.snapshot ? "" : waiting.trace_id));
    return;
  }
  if (std::exchange(waiting.refused_told, true)) return;
  FileEvent event{.pid = pid, .what = FileEvent::What::written, .check = {}, .problem = {}};
  event.check.problem = summary.error().message;
  tell_(event);
}

void TraceWatcher::tell_temporary(Pid pid, Waiting& waiting) {
  if (std::exchange(waiting.temporary_told, true)) return;
  tell_({.pid = pid, .what = FileEvent::What::temporary, .check = {}, .problem = {}});
}

void TraceWatcher::tell_written(Pid pid, FileCheck check) {
  unwatch(pid);
  tell_({.pid = pid, .what = FileEvent::What::written, .check = std::move(check), .problem = {}});
}

void TraceWatcher::tell_unwatchable(Pid pid, std::string problem) {
  unwatch(pid);
  tell_({.pid = pid,
         .what = FileEvent::What::unwatchable,
         .check = {},
         .problem = std::move(problem)});
}

}  // namespace dynolog
