// From names in a directory to "temporary", "written" and "unwatchable".
#include "workers/trace_watcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "traces/snapshot_check.h"

namespace dynolog {
namespace {

// Of names that are waited for: others in a busy directory are not kept. Beyond this, everything is
// looked at again.
constexpr std::size_t kMaxEventsKept = 1024;
constexpr Nanoseconds kBetweenProgress = std::chrono::seconds(1);

// What the streaming check says, seen against the id that was asked for.
FileCheck judge(TraceSummary summary, const std::string& trace_id) {
  FileCheck check;
  check.checked = true;
  check.whole = summary.whole;
  check.ours = trace_id.empty() || summary.trace_id == trace_id;
  if (!summary.whole) {
    check.problem = summary.problem;
  } else if (!check.ours && summary.trace_id.empty()) {
    check.problem = "the file carries no trace id: it is not the trace that was asked for";
  } else if (!check.ours) {
    check.problem = fmt::format("the file is another trace's (id {}, asked for {})",
                                summary.trace_id, trace_id);
  }
  check.summary = std::move(summary);
  return check;
}

std::optional<StagedFile> staged_from(const TraceDirectory& directory, UniqueFd fd, FileStamp stamp,
                                      const TraceSummary& summary) {
  TraceDirectory held{.fd = UniqueFd(::fcntl(directory.fd.get(), F_DUPFD_CLOEXEC, 0)),
                      .path = directory.path,
                      .name = directory.name,
                      .id = directory.id,
                      .device = directory.device,
                      .mount = directory.mount};
  if (!held.fd.valid()) return std::nullopt;
  return StagedFile{.directory = std::move(held),
                    .fd = std::move(fd),
                    .stamp = stamp,
                    .closing_brace = summary.closing_brace};
}

}  // namespace

void TraceWatcher::watch(Pid pid, const std::vector<HeldDirectory>& places, std::string trace_id,
                         FilesWorker::Expect expect) {
  unwatch(pid);
  Waiting waiting;
  waiting.trace_id = std::move(trace_id);
  waiting.snapshot = expect == FilesWorker::Expect::snapshot;
  for (const HeldDirectory& directory : places) {
    // The stamp first: a file renamed into place after it is ours, and the look below sees it.
    const auto before = stamp_of(*directory, directory->name);
    const auto watch = directories_.add(directory->fd.get());
    if (watch) {
      waiting.places.push_back({directory, *watch, before});
    } else if (waiting.places.empty()) {
      return tell_unwatchable(
          pid, fmt::format("{} cannot be watched: {}", directory->path, watch.error().message));
    }
  }
  if (waiting.places.empty()) return tell_unwatchable(pid, "no directory to watch");
  waiting_.insert_or_assign(pid, std::move(waiting));
  look_at_earlier(pid);
  if (waiting_.contains(pid)) look(pid);
}

void TraceWatcher::unwatch(Pid pid) {
  const auto found = waiting_.find(pid);
  if (found == waiting_.end()) return;
  const std::vector<Place> places = std::move(found->second.places);
  waiting_.erase(found);
  for (const Place& place : places) release_watch(place.watch);
}

// Equal directories have one number.
void TraceWatcher::release_watch(int watch) {
  if (watch < 0) return;
  const bool shared = std::ranges::any_of(waiting_, [watch](const auto& other) {
    return std::ranges::find(other.second.places, watch, &Place::watch) !=
           other.second.places.end();
  });
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

void TraceWatcher::during_work(Pid pid) {
  // That other files are there is told at once, all else waits its turn.
  take_events();
  const MonotonicTime now = clock_.monotonic();
  if (progress_told_ && now - *progress_told_ < kBetweenProgress) return;
  progress_told_ = now;
  tell(pid, FileEvent::What::progress);
}

bool TraceWatcher::concerns(const DirectoryEvent& event, const Place& place) const {
  if (event.what == DirectoryEvent::What::overflow) return true;
  if (event.watch != place.watch) return false;
  return event.what == DirectoryEvent::What::gone || event.name == place.directory->name ||
         event.name == temporary_name(*place.directory);
}

bool TraceWatcher::concerns_any(const DirectoryEvent& event) const {
  return std::ranges::any_of(waiting_, [&](const auto& waiting) {
    return std::ranges::any_of(waiting.second.places,
                               [&](const Place& place) { return concerns(event, place); });
  });
}

void TraceWatcher::take_events() {
  for (DirectoryEvent& event : directories_.read()) {
    if (!concerns_any(event)) continue;
    announce(event);
    if (events_.size() >= kMaxEventsKept) {
      events_.clear();
      event = {-1, DirectoryEvent::What::overflow, ""};
    }
    events_.push_back(std::move(event));
  }
}

void TraceWatcher::announce(const DirectoryEvent& event) {
  if (event.what != DirectoryEvent::What::complete) return;
  for (auto& [pid, waiting] : waiting_) {
    for (std::size_t i = 0; i < waiting.places.size(); ++i) {
      const Place& place = waiting.places[i];
      if (event.watch != place.watch || event.name != place.directory->name) continue;
      const auto now = stamp_of(*place.directory, place.directory->name);
      if (!now || now == place.before) continue;
      // A snapshot says nothing at a glance; its check is short.
      if (i == 0 || (!waiting.snapshot && open_if_ours(waiting, place))) {
        tell_renamed(pid, waiting);
      }
    }
  }
}

void TraceWatcher::on_event(const DirectoryEvent& event) {
  // Telling may end the waiting: go by pid and number.
  std::vector<std::pair<Pid, std::size_t>> concerned;
  for (const auto& [pid, waiting] : waiting_) {
    for (std::size_t i = 0; i < waiting.places.size(); ++i) {
      if (concerns(event, waiting.places[i])) concerned.emplace_back(pid, i);
    }
  }
  for (const auto& [pid, index] : concerned) {
    if (waiting_.contains(pid)) on_place_event(event, pid, index);
  }
}

void TraceWatcher::on_place_event(const DirectoryEvent& event, Pid pid, std::size_t index) {
  Waiting& waiting = waiting_.at(pid);
  const bool of_temporary = event.name != waiting.places[index].directory->name;
  switch (event.what) {
    case DirectoryEvent::What::created:
      if (of_temporary) on_created_temporary(pid, waiting, index);
      break;
    case DirectoryEvent::What::complete:
      if (of_temporary) break;
      if (index == 0) {
        check_first(pid);
      } else {
        check_elsewhere(pid, index);
      }
      break;
    case DirectoryEvent::What::gone:
      on_gone(pid, waiting, index);
      break;
    case DirectoryEvent::What::overflow:
      if (index == 0) look(pid);
      break;
  }
}

// Elsewhere the name is nothing of ours: what anyone may plant there says nothing.
void TraceWatcher::on_created_temporary(Pid pid, Waiting& waiting, std::size_t index) {
  const TraceDirectory& directory = *waiting.places[index].directory;
  const auto plain = is_plain_file_of(directory, temporary_name(directory), owner_);
  if (index > 0 && !plain.value_or(false)) return;
  tell_temporary(pid, waiting);
}

void TraceWatcher::on_gone(Pid pid, Waiting& waiting, std::size_t index) {
  if (index == 0) {
    return tell_unwatchable(pid, fmt::format("{} was removed or moved away: the trace cannot be "
                                             "seen",
                                             waiting.places[0].directory->path));
  }
  release_watch(std::exchange(waiting.places[index].watch, -1));
}

// What may have come between the request and the watch, or in a flood of events.
void TraceWatcher::look(Pid pid) {
  Waiting& waiting = waiting_.at(pid);
  const Place& first = waiting.places.front();
  if (stamp_of(*first.directory, temporary_name(*first.directory))) tell_temporary(pid, waiting);
  const auto now = stamp_of(*first.directory, first.directory->name);
  // A new file may still be under its writer's hands: its completion is an event.
  if (now && now != first.before && now->bytes > 0 && open_trace(*first.directory, owner_)) {
    check_first(pid);
  }
  for (std::size_t i = 1; waiting_.contains(pid) && i < waiting.places.size(); ++i) {
    check_elsewhere(pid, i);
  }
}

// A file from before the watch counts when it carries our id: the daemon was away meanwhile.
void TraceWatcher::look_at_earlier(Pid pid) {
  const Waiting& waiting = waiting_.at(pid);
  if (waiting.snapshot) return;
  for (const Place& place : waiting.places) {
    if (!place.before) continue;
    auto fd = open_if_ours(waiting, place);
    if (!fd) continue;
    auto looked = look_into(pid, std::move(*fd), false);
    if (!looked || looked->summary.trace_id != waiting.trace_id) continue;
    return tell_written(pid, place, std::move(*looked));
  }
}

void TraceWatcher::check_first(Pid pid) {
  Waiting& waiting = waiting_.at(pid);
  const Place& place = waiting.places.front();
  const auto now = stamp_of(*place.directory, place.directory->name);
  // Gone again, or the file from before. One that is there but was closed to us is opened below,
  // and what comes of that is told.
  if (!now && errno != EACCES) return;
  if (now && now == place.before) return;
  auto fd = open_trace(*place.directory, owner_);
  auto looked = fd ? look_into(pid, std::move(*fd), waiting.snapshot)
                   : Result<Looked>(std::unexpected(std::move(fd.error())));
  if (looked) return tell_written(pid, place, std::move(*looked));
  if (std::exchange(waiting.refused_told, true)) return;
  FileEvent event;
  event.pid = pid;
  event.what = FileEvent::What::written;
  event.path = fmt::format("{}/{}", place.directory->path, place.directory->name);
  event.check.problem = looked.error().message;
  listener_.tell(event);
}

// Of what is not ours for certain nothing is told.
void TraceWatcher::check_elsewhere(Pid pid, std::size_t index) {
  Waiting& waiting = waiting_.at(pid);
  const Place& place = waiting.places[index];
  if (place.watch < 0) return;
  const auto now = stamp_of(*place.directory, place.directory->name);
  if (!now || now == place.before) return;
  auto fd = open_if_ours(waiting, place);
  if (!fd) return;
  if (!waiting.snapshot) tell_renamed(pid, waiting);
  auto looked = look_into(pid, std::move(*fd), waiting.snapshot);
  if (!looked) return;
  const bool ours =
      waiting.snapshot ? looked->summary.whole : looked->summary.trace_id == waiting.trace_id;
  if (ours) tell_written(pid, place, std::move(*looked));
}

// As far as can be told cheaply. A snapshot has no id, but is at least the owner's.
Result<UniqueFd> TraceWatcher::open_if_ours(const Waiting& waiting, const Place& place) const {
  auto fd = open_trace(*place.directory, owner_);
  if (!fd || waiting.snapshot) return fd;
  if (waiting.trace_id.empty() || !mentions(fd->get(), waiting.trace_id)) {
    return fail(ErrorKind::not_found, "the file does not carry the trace id");
  }
  return fd;
}

Result<TraceWatcher::Looked> TraceWatcher::look_into(Pid pid, UniqueFd fd, bool snapshot) {
  const auto stamp = stamp_of(fd.get());
  if (!stamp) return std::unexpected(stamp.error());
  auto summary = snapshot ? check_snapshot(fd.get())
                          : summarise_trace(fd.get(), [this, pid] { during_work(pid); });
  if (!summary) return std::unexpected(std::move(summary.error()));
  return Looked{std::move(fd), *stamp, std::move(*summary)};
}

void TraceWatcher::tell(Pid pid, FileEvent::What what) {
  FileEvent event;
  event.pid = pid;
  event.what = what;
  listener_.tell(event);
}

void TraceWatcher::tell_temporary(Pid pid, Waiting& waiting) {
  if (!std::exchange(waiting.temporary_told, true)) tell(pid, FileEvent::What::temporary);
}

void TraceWatcher::tell_renamed(Pid pid, Waiting& waiting) {
  if (!std::exchange(waiting.renamed_told, true)) tell(pid, FileEvent::What::renamed);
}

void TraceWatcher::tell_written(Pid pid, const Place& place, Looked looked) {
  const Waiting& waiting = waiting_.at(pid);
  const HeldDirectory directory = place.directory;
  FileEvent event;
  event.pid = pid;
  event.what = FileEvent::What::written;
  event.path = fmt::format("{}/{}", directory->path, directory->name);
  event.check = judge(std::move(looked.summary), waiting.snapshot ? "" : waiting.trace_id);
  unwatch(pid);
  if (event.check.ours) {
    const TraceSummary& summary = event.check.summary;
    auto staged = staged_from(*directory, std::move(looked.fd), looked.stamp, summary);
    if (staged) {
      listener_.keep(pid, {.file = std::move(*staged),
                           .compressed = summary.compressed,
                           .has_distributed_info = summary.has_distributed_info});
    }
  }
  listener_.tell(event);
}

void TraceWatcher::tell_unwatchable(Pid pid, std::string problem) {
  unwatch(pid);
  FileEvent event;
  event.pid = pid;
  event.what = FileEvent::What::unwatchable;
  event.problem = std::move(problem);
  listener_.tell(event);
}

}  // namespace dynolog
