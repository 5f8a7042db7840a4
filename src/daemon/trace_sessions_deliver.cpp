// From a written, checked file to its place.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/path_template.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"
#include "kernel/clock_sync.h"
#include "profiling/trace_record.h"

namespace dynolog {

static_assert(kMaxTraceRecord == kMaxSideCar, "what is made of a trace is what is taken beside it");

void TraceSessions::bring(Live& live, ProcessTrace& trace) {
  const TracePlace& place = trace.request().place;
  Bringing& bringing = live.bringing[trace.key().pid];
  if (std::exchange(bringing.begun, true)) return;
  note_news(live, trace.key());
  if (place.in_place) {
    settle(live, trace,
           TraceDelivery{.location = TraceDelivery::Location::host,
                         .path = trace.written_path(),
                         .file_id = "",
                         .notes = {}});
    return;
  }
  FilesWorker* const worker = live.worker_of(trace.key().pid);
  // PyTorch leaves the empty temporary of the trace that it would have made beside a snapshot.
  if (worker != nullptr && trace.request().memory_snapshot) {
    worker->discard(trace.key().pid, FilesWorker::Discard::at_once, [](const Result<bool>&) {});
  }
  if (worker == nullptr) {
    settle(live, trace, fail(ErrorKind::unavailable, "its files worker ended"));
  } else if (place.target.empty()) {
    make_fetchable(live, trace, *worker);
  } else {
    deliver(live, trace, *worker);
  }
}

void TraceSessions::deliver(Live& live, ProcessTrace& trace, FilesWorker& worker) {
  const Pid pid = trace.key().pid;
  worker.deliver(pid,
                 {.gzip = live.facts.gzip,
                  .distributed_info = distributed_info_of(live, trace),
                  .side_car = side_car_of(live, trace)},
                 awaited<Result<DeliveredFile>>(
                     live, pid, [this](Live& mine, ProcessTrace& its, Result<DeliveredFile> file) {
                       if (!file) {
                         settle(mine, its, std::unexpected(std::move(file.error())));
                         return;
                       }
                       settle(mine, its,
                              TraceDelivery{.location = TraceDelivery::Location::host,
                                            .path = std::move(file->path),
                                            .file_id = std::move(file->file_id),
                                            .bytes = file->bytes,
                                            .notes = std::move(file->notes)});
                     }));
}

void TraceSessions::make_fetchable(Live& live, ProcessTrace& trace, FilesWorker& worker) {
  const Pid pid = trace.key().pid;
  const auto open = [this](Live& mine, ProcessTrace& its) {
    Bringing& bringing = mine.bringing[its.key().pid];
    bringing.fetchable = true;
    bringing.last_fetch = world_.clock.monotonic();
    tell(mine, its);
    if (its.state() == TraceState::written) {
      arm_keeping(mine, its.key().pid);
    } else {  // the deadline passed: its worker is not going to wait
      keep(mine, its);
    }
  };
  std::string info = distributed_info_of(live, trace);
  if (info.empty()) {
    open(live, trace);
    return;
  }
  worker.complete(
      pid, std::move(info),
      awaited<Status>(live, pid, [open](Live& mine, ProcessTrace& its, Status completed) {
        if (!completed) {
          mine.note(its.key().pid, "its rank is not written into it: " + completed.error().message);
        }
        open(mine, its);
      }));
}

// The last word on where the file is. A trace that has ended meanwhile keeps its state, but not the
// place that it said.
void TraceSessions::settle(Live& live, ProcessTrace& trace, Result<TraceDelivery> outcome) {
  const Pid pid = trace.key().pid;
  const MonotonicTime now = world_.clock.monotonic();
  live.bringing[pid].fetchable = false;
  live.bringing[pid].intake.reset();
  live.bringing[pid].patience.cancel();
  if (trace.state() == TraceState::written) {
    const bool news = outcome ? trace.on_delivered(now, std::move(*outcome))
                              : trace.on_undelivered(now, std::move(outcome.error().message));
    if (news) changed(live, trace);
    return;
  }
  if (outcome) {
    audit_delivery(live, pid, *outcome);
    trace.on_late_delivered(now, std::move(*outcome));
  } else {
    world_.log.warning("trace {} of process {}: {}", live.session.id.value, pid.value,
                       outcome.error().message);
    live.note(pid, "the file is where it was: " + outcome.error().message);
  }
  tell(live, trace);
  write_journal_soon(live);
}

void TraceSessions::audit_delivery(const Live& live, Pid pid, const TraceDelivery& delivery) {
  const std::string place(to_string(delivery.location));
  world_.log.info("trace {} of process {} is with the {}{}{}", live.session.id.value, pid.value,
                  place, delivery.path.empty() ? "" : ": ", delivery.path);
  world_.publish({.time = world_.clock.wall(),
                  .kind = "audit.trace_delivered",
                  .subject = live.session.id.value,
                  .text = fmt::format("trace of process {} delivered", pid.value),
                  .fields = {{"process", std::to_string(pid.value)},
                             {"location", place},
                             {"file", delivery.path},
                             {"file_id", delivery.file_id}}});
}

// What only we can name: nobody else would take it away. While its process may go on with it, only
// where it has let go of it.
void TraceSessions::discard_rest(Live& live, const ProcessTrace& trace) {
  const Pid pid = trace.key().pid;
  FilesWorker* const worker = live.worker_of(pid);
  if (worker == nullptr || trace.request().place.in_place) return;
  const auto when =
      trace.may_still_write() ? FilesWorker::Discard::when_closed : FilesWorker::Discard::at_once;
  worker->discard(pid, when,
                  awaited<Result<bool>>(
                      live, pid, [this](Live& mine, const ProcessTrace& its, Result<bool> removed) {
                        const std::string file = its.request().place.file + ".tmp";
                        if (!removed) {
                          // Without a directory nothing was seen there.
                          if (removed.error().kind == ErrorKind::not_found) return;
                          mine.note(its.key().pid, fmt::format("{} may be left unfinished: {}",
                                                               file, removed.error().message));
                        } else {
                          if (!*removed) return;
                          world_.log.info("trace {} of process {}: {}, which it left, is removed",
                                          mine.session.id.value, its.key().pid.value, file);
                          mine.note(its.key().pid, "the unfinished file that it left is removed");
                        }
                        tell(mine, its);
                        write_journal_soon(mine);
                      }));
}

// A process may have opened its GPU since it was chosen, and its version may have been read.
void TraceSessions::note_news(Live& live, const ProcessKey& key) {
  const ProcessEntry* entry = world_.registry.table().find(key.pid);
  if (entry == nullptr || entry->key != key || !entry->facts) return;
  TracedProcess& process = live.facts.processes[key.pid];
  process.holds_gpu = entry->facts->holds_gpu;
  process.gpus = entry->facts->gpus;
  if (entry->torch) process.torch_version = entry->torch->version;
}

// Only into a file that is whole, has room for it before its end, and has none.
std::string TraceSessions::distributed_info_of(const Live& live, const ProcessTrace& trace) const {
  const FileCheck& check = trace.check();
  const bool fits = check.checked && check.whole && check.summary.closing_brace &&
                    !check.summary.has_distributed_info && !trace.request().memory_snapshot;
  if (!fits) return "";
  return distributed_info_text(facts_of(live, trace));
}

std::string TraceSessions::side_car_of(const Live& live, const ProcessTrace& trace) const {
  const ProcessFacts facts = facts_of(live, trace);
  TorchFacts torch;
  torch.version = live.process(trace.key().pid).torch_version;
  std::optional<double> clock_error_us;
  if (const auto error = clock_error()) {
    clock_error_us = std::chrono::duration<double, std::micro>(*error).count();
  }
  std::string file(file_name(trace.request().place.target));
  if (live.facts.gzip && !file.empty()) file = with_gz(std::move(file));
  return side_car_text({.file = std::move(file),
                        .host = world_.host,
                        .user = world_.registry.user_name(facts.uid),
                        .session = live.session.id,
                        .facts = facts,
                        .torch = torch,
                        .request = trace.request(),
                        .check = trace.check(),
                        .times = trace.times(world_.clock.monotonic(), world_.clock.wall()),
                        .clock_error_us = clock_error_us,
                        .notes = notes_of(live, trace)});
}

ProcessFacts TraceSessions::facts_of(const Live& live, const ProcessTrace& trace) {
  const auto tenant = live.session.tenants.find(trace.key().pid);
  return dynolog::facts_of(live.process(trace.key().pid), trace.key(),
                           tenant == live.session.tenants.end() ? Uid{} : tenant->second.uid);
}

}  // namespace dynolog
