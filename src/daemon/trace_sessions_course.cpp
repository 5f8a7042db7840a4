// The course of the sessions: inputs from Kineto, files and time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {

namespace {

constexpr Nanoseconds kLastNews = std::chrono::seconds(5);  // of files, after a process's end

}  // namespace

void TraceSessions::with_trace(const ProcessKey& key, const std::string& trace_id,
                               const Input& input) {
  const auto active = active_.find(key.pid);
  if (active == active_.end()) return;
  Live& live = *sessions_.at(active->second);
  ProcessTrace& trace = live.session.traces.at(key.pid);
  if (trace.key() != key) return;
  if (!trace_id.empty() && trace.request().trace_id != trace_id) return;
  input_to(live, trace, input);
}

void TraceSessions::input_to(Live& live, ProcessTrace& trace, const Input& input) {
  if (input(trace)) {
    changed(live, trace);
  } else {
    arm(live);  // even without a new state the next due time may be another
  }
}

void TraceSessions::on_polled(const KinetoPolled& polled) {
  const auto active = active_.find(polled.key.pid);
  if (active == active_.end()) return;
  if (sessions_.at(active->second)->looked_for.contains(polled.key.pid)) return;
  with_trace(polled.key, "",
             [&](ProcessTrace& trace) { return trace.on_poll(polled.time, polled.idle); });
}

void TraceSessions::on_handed_over(const KinetoHandedOver& event) {
  with_trace(event.key, event.trace_id, [&](ProcessTrace& trace) {
    write_journal_soon(*sessions_.at(active_.at(event.key.pid)));
    return trace.on_handed_over(event.time, event.wall, event.start);
  });
}

void TraceSessions::on_receipt(const KinetoReceipt& event) {
  with_trace(event.key, event.trace_id, [&](ProcessTrace& trace) {
    return event.read ? trace.on_receipt(event.time) : trace.on_not_read(event.time);
  });
}

void TraceSessions::on_not_handed_over(const KinetoNotHandedOver& event) {
  with_trace(event.key, event.trace_id, [&](ProcessTrace& trace) {
    switch (event.why) {
      case KinetoNotHandedOver::Why::identity_changed:
        return trace.on_identity_changed(event.time);
      case KinetoNotHandedOver::Why::too_large:
        return trace.on_refused(event.time, "the configuration does not fit into one datagram");
      case KinetoNotHandedOver::Why::busy:
        break;
    }
    return trace.on_poll_busy_before_hand_over(event.time);
  });
}

void TraceSessions::on_ended(const KinetoEnded& ended) {
  with_trace(ended.key, "",
             [&](ProcessTrace& trace) { return trace.on_process_end(world_.clock.monotonic()); });
  // Who has ended writes no late file; the news of one may be under way.
  for (auto& [id, live] : sessions_) {
    const auto late = live->late.find(ended.key.pid);
    if (late == live->late.end()) continue;
    if (live->session.traces.at(ended.key.pid).key() != ended.key) continue;
    late->second = late_timer(id, ended.key.pid, kLastNews);
  }
}

void TraceSessions::on_file(const SessionId& id, const Tenant& from, FileEvent event) {
  Live* const live = find(id);
  if (live == nullptr) return;
  const auto found = live->session.traces.find(event.pid);
  if (found == live->session.traces.end()) return;
  // A worker parses its tenant's files: it has no say about another's.
  if (live->session.tenants[event.pid] != from) return;
  ProcessTrace& trace = found->second;
  const MonotonicTime now = world_.clock.monotonic();
  if (is_end(trace.state())) {
    on_late_file(*live, trace, std::move(event));
    return;
  }
  if (trace.state() == TraceState::written) {
    // Of an earlier daemon: only the file itself was missing.
    if (live->bringing[event.pid].begun) return;
    if (event.what == FileEvent::What::written) bring(*live, trace);
    if (event.what == FileEvent::What::unwatchable) {
      settle(*live, trace, fail(ErrorKind::unavailable, std::move(event.problem)));
    }
    return;
  }
  input_to(*live, trace, [&](ProcessTrace& mine) {
    switch (event.what) {
      case FileEvent::What::temporary:
        return mine.on_temporary_file(now);
      case FileEvent::What::renamed:
        return mine.on_renamed(now);
      case FileEvent::What::written:
        return mine.on_file(now, std::move(event.check), std::move(event.path));
      case FileEvent::What::unwatchable:
        return mine.on_files_unknown(now, std::move(event.problem));
      case FileEvent::What::progress:
        break;
    }
    return false;
  });
}

void TraceSessions::on_worker_end(const SessionId& id, const Tenant& tenant,
                                  const std::string& why) {
  Live* const live = find(id);
  if (live == nullptr) return;
  const bool wanted = std::ranges::any_of(live->session.traces, [&](const auto& entry) {
    return live->session.tenants[entry.first] == tenant && !is_end(entry.second.state());
  });
  if (wanted && live->session.phase == SessionPhase::committed &&
      live->replaced_workers.insert(tenant).second) {
    world_.log.warning("session {}: the files worker of uid {} is replaced: {}", id.value,
                       tenant.uid.value, why);
    // Not at once: this may be the worker's own callback.
    world_.loop.post([this, id, tenant] { replace_worker(id, tenant); });
    return;
  }
  for (auto& [pid, trace] : live->session.traces) {
    if (live->session.tenants[pid] != tenant || is_end(trace.state())) continue;
    if (trace.state() == TraceState::written) {
      settle(*live, trace, fail(ErrorKind::unavailable, why));
    } else {
      input_to(*live, trace, [&](ProcessTrace& mine) {
        return mine.on_files_unknown(world_.clock.monotonic(), why);
      });
    }
  }
}

// Once: what ended one worker may end the next. It finds what was written by the trace's id.
void TraceSessions::replace_worker(const SessionId& id, const Tenant& tenant) {
  Live* const live = find(id);
  if (live == nullptr) return;
  live->plan.workers.erase(tenant);
  for (const auto& [pid, trace] : live->session.traces) {
    if (live->session.tenants[pid] == tenant && !is_end(trace.state())) live->bringing.erase(pid);
  }
  watch_again(*live, tenant);
}

// The trace has a new state: tells everybody, and goes on with the file.
void TraceSessions::changed(Live& live, ProcessTrace& trace) {
  const Pid pid = trace.key().pid;
  const std::string name = fmt::format("trace {} of process {}", live.session.id.value, pid.value);
  const std::string_view state = to_string(trace.state());
  if (trace.sentence().starts_with(state)) {
    world_.log.info("{}: {}", name, trace.sentence());
  } else {
    world_.log.info("{}: {}: {}", name, state, trace.sentence());
  }
  world_.publish({.time = world_.clock.wall(),
                  .kind = "trace.state",
                  .subject = std::to_string(pid.value),
                  .text = fmt::format("{}: {}", name, state),
                  .fields = {{"session", live.session.id.value}, {"state", std::string(state)}}});
  const bool written = trace.state() == TraceState::written;
  if (written || is_end(trace.state())) {
    const auto active = active_.find(pid);
    if (active != active_.end() && active->second == live.session.id) active_.erase(active);
  }
  if (is_end(trace.state())) note_end(live, trace);
  tell(live, trace);
  write_journal_soon(live);
  arm(live);
  if (written) bring(live, trace);
  end_if_done(live);
}

void TraceSessions::note_end(Live& live, const ProcessTrace& trace) {
  const Pid pid = trace.key().pid;
  if (trace.delivery()) audit_delivery(live, pid, *trace.delivery());
  FilesWorker* const worker = live.worker_of(pid);
  if (worker == nullptr || !trace.written_path().empty()) return;
  if (trace.may_still_write() && !trace.request().place.in_place) {
    expect_late(live, pid);
    // Of one that was given up on for its time alone the process has the file open.
    if (trace.state() == TraceState::rejected) discard_rest(live, trace);
    return;
  }
  worker->unwatch(pid);
  discard_rest(live, trace);
}

void TraceSessions::expect_late(Live& live, Pid pid) {
  live.late[pid] = late_timer(live.session.id, pid, world_.timeouts.write);
}

Timer TraceSessions::late_timer(const SessionId& id, Pid pid, Nanoseconds wait) {
  return world_.loop.after(
      wait, [this, id, pid] { world_.loop.post([this, id, pid] { end_late(id, pid); }); });
}

void TraceSessions::on_late_file(Live& live, ProcessTrace& trace, FileEvent event) {
  const Pid pid = trace.key().pid;
  if (!live.late.contains(pid)) return;
  if (event.what == FileEvent::What::unwatchable) {
    world_.loop.post([this, id = live.session.id, pid] { end_late(id, pid); });
    return;
  }
  if (event.what != FileEvent::What::written) return;
  const bool ours = event.check.ours;
  if (!trace.on_late_file(world_.clock.monotonic(), std::move(event.check),
                          std::move(event.path))) {
    return;
  }
  live.late.erase(pid);
  world_.log.info("trace {} of process {}: its file came after its end: {}", live.session.id.value,
                  pid.value, trace.written_path());
  live.note(pid, "the file came after this trace had been given up on");
  if (ours) bring(live, trace);
  drop_workers_if_idle(live.session.id);
}

void TraceSessions::end_late(const SessionId& id, Pid pid) {
  Live* const live = find(id);
  if (live == nullptr || live->late.erase(pid) == 0) return;
  if (FilesWorker* const worker = live->worker_of(pid)) worker->unwatch(pid);
  const auto trace = live->session.traces.find(pid);
  if (trace != live->session.traces.end()) discard_rest(*live, trace->second);
  drop_workers_if_idle(id);
}

void TraceSessions::arm(Live& live) {
  std::optional<MonotonicTime> earliest;
  for (const auto& [pid, trace] : live.session.traces) {
    if (withdrawing_.contains(pid)) continue;  // the mailbox's answer comes first
    if (live.looked_for.contains(pid)) continue;
    const auto due = trace.next_due();
    if (due && (!earliest || *due < *earliest)) earliest = due;
  }
  if (!earliest) {
    live.due.cancel();
    return;
  }
  const auto wait = std::max(Nanoseconds(0), *earliest - world_.clock.monotonic());
  live.due = world_.loop.after(wait, [this, id = live.session.id] { on_due(id); });
}

void TraceSessions::on_due(const SessionId& id) {
  Live* const live = find(id);
  if (live == nullptr) return;
  const MonotonicTime now = world_.clock.monotonic();
  for (auto& [pid, trace] : live->session.traces) {
    const auto due = trace.next_due();
    if (!due || *due > now || withdrawing_.contains(pid)) continue;
    if (live->looked_for.contains(pid)) continue;
    if (trace.state() == TraceState::staged && !trace.beyond_recall()) {
      withdraw(trace, Withdrawal::expiry);
    } else if (trace.on_time(now)) {
      changed(*live, trace);
    }
  }
  arm(*live);
}

void TraceSessions::on_session_deadline(const SessionId& id) {
  Live* const live = find(id);
  if (live == nullptr) return;
  // Nobody is going to fetch what is left.
  live->facts.attended = false;
  for (auto& [pid, trace] : live->session.traces) {
    if (trace.state() == TraceState::staged && !trace.beyond_recall()) {
      withdraw(trace, Withdrawal::deadline);
      continue;
    }
    const bool written = trace.state() == TraceState::written;
    if (trace.on_deadline(world_.clock.monotonic())) changed(*live, trace);
    if (written && trace.request().place.brought()) keep(*live, trace);
  }
}

void TraceSessions::end_if_done(Live& live) {
  if (live.session.phase != SessionPhase::committed || !live.session.all_ended()) return;
  live.session.phase = SessionPhase::ended;
  live.deadline.cancel();
  drop_workers_if_idle(live.session.id);
  forget_later(live);
}

// Not at once: a worker's callback may be what led here.
void TraceSessions::drop_workers_if_idle(const SessionId& id) {
  world_.loop.post([this, id] {
    Live* const live = find(id);
    if (live == nullptr || live->session.phase != SessionPhase::ended || live->awaited > 0 ||
        !live->late.empty()) {
      return;
    }
    live->plan.workers.clear();
  });
}

}  // namespace dynolog
