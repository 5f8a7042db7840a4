// The course of the sessions: inputs from Kineto, files and time; followers; the journal.
#include "daemon/trace_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/file.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {
namespace {

constexpr auto kKeepEnded = std::chrono::minutes(10);
constexpr std::size_t kMaxEnded = 128;
constexpr auto kJournalDelay = Milliseconds(50);

}  // namespace

rpc::TraceUpdate to_update(const ProcessTrace& trace, std::optional<int> rank) {
  rpc::TraceUpdate update;
  update.pid = trace.key().pid.value;
  update.rank = rank;
  update.state = to_string(trace.state());
  update.sentence = trace.sentence();
  update.trace_id = trace.request().trace_id;
  update.ended = is_end(trace.state());
  update.may_still_write = trace.may_still_write();
  if (trace.state() != TraceState::written) return update;
  const FileCheck& check = trace.check();
  update.file = trace.request().file;
  update.events = check.events;
  update.bytes = check.bytes;
  update.checked = check.checked;
  update.whole = check.whole;
  update.ours = check.ours;
  update.problem = check.problem;
  return update;
}

TraceSessions::TraceSessions(World world)
    : world_(std::move(world)), journal_(world_.journal_directory, world_.log) {}
TraceSessions::~TraceSessions() = default;

std::optional<TraceState> TraceSessions::state_of(Pid pid) const {
  const auto active = active_.find(pid);
  if (active == active_.end()) return std::nullopt;
  return sessions_.at(active->second)->session.traces.at(pid).state();
}

std::size_t TraceSessions::active() const {
  return static_cast<std::size_t>(std::count_if(
      sessions_.begin(), sessions_.end(),
      [](const auto& entry) { return entry.second->session.phase == SessionPhase::committed; }));
}

void TraceSessions::with_trace(const ProcessKey& key, const std::string& trace_id,
                               const std::function<bool(ProcessTrace&)>& input) {
  const auto active = active_.find(key.pid);
  if (active == active_.end()) return;
  Live& live = *sessions_.at(active->second);
  ProcessTrace& trace = live.session.traces.at(key.pid);
  if (trace.key() != key) return;
  if (!trace_id.empty() && trace.request().trace_id != trace_id) return;
  if (input(trace)) {
    changed(live, trace);
  } else {
    arm(live);  // even without a new state the next due time may be another
  }
}

void TraceSessions::on_polled(const KinetoPolled& polled) {
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
}

void TraceSessions::on_file(const SessionId& id, const Tenant& from, FileEvent event) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  const auto trace = session->second->session.traces.find(event.pid);
  if (trace == session->second->session.traces.end()) return;
  // A worker parses its tenant's files: it has no say about another's.
  if (session->second->session.tenants[event.pid] != from) return;
  const MonotonicTime now = world_.clock.monotonic();
  with_trace(trace->second.key(), trace->second.request().trace_id, [&](ProcessTrace& mine) {
    switch (event.what) {
      case FileEvent::What::temporary:
        return mine.on_temporary_file(now);
      case FileEvent::What::renamed:
        return mine.on_renamed(now);
      case FileEvent::What::written:
        return mine.on_file(now, std::move(event.check));
      case FileEvent::What::unwatchable:
        return mine.on_files_unknown(now, std::move(event.problem));
    }
    return false;
  });
}

void TraceSessions::on_worker_end(const SessionId& id, const Tenant& tenant,
                                  const std::string& why) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  Live& live = *session->second;
  std::vector<ProcessKey> keys;
  for (const auto& [pid, trace] : live.session.traces) {
    if (live.session.tenants[pid] == tenant && !is_end(trace.state())) keys.push_back(trace.key());
  }
  for (const ProcessKey& key : keys) {
    with_trace(key, "", [&](ProcessTrace& trace) {
      return trace.on_files_unknown(world_.clock.monotonic(), why);
    });
  }
}

void TraceSessions::changed(Live& live, const ProcessTrace& trace) {
  const Pid pid = trace.key().pid;
  const std::string name = fmt::format("trace {} of process {}", live.session.id.value, pid.value);
  world_.log.info("{}: {}{}{}", name, to_string(trace.state()),
                  trace.sentence().empty() ? "" : ": ", trace.sentence());
  world_.publish({.time = world_.clock.wall(),
                  .kind = "trace.state",
                  .subject = std::to_string(pid.value),
                  .text = fmt::format("{}: {}", name, to_string(trace.state())),
                  .fields = {{"session", live.session.id.value},
                             {"state", std::string(to_string(trace.state()))}}});
  if (is_end(trace.state())) {
    active_.erase(pid);
    const auto worker = live.plan.workers.find(live.session.tenants[pid]);
    if (worker != live.plan.workers.end()) worker->second->unwatch(pid);
  }
  rpc::FollowFrame frame;
  frame.session = live.session.id.value;
  frame.updates.push_back(to_update(trace, live.ranks[pid]));
  frame.done = live.session.all_ended();
  // A follower may leave while it is told.
  const auto followers = live.followers;
  std::vector<std::uint64_t> tokens;
  for (const auto& [token, on_frame] : *followers) tokens.push_back(token);
  for (const std::uint64_t token : tokens) {
    const auto follower = followers->find(token);
    if (follower != followers->end()) std::function(follower->second)(frame);
  }
  write_journal_soon(live);
  arm(live);
  end_if_done(live);
}

void TraceSessions::arm(Live& live) {
  std::optional<MonotonicTime> earliest;
  for (const auto& [pid, trace] : live.session.traces) {
    if (withdrawing_.contains(pid)) continue;  // the mailbox's answer comes first
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
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  const MonotonicTime now = world_.clock.monotonic();
  for (auto& [pid, trace] : session->second->session.traces) {
    const auto due = trace.next_due();
    if (!due || *due > now || withdrawing_.contains(pid)) continue;
    if (trace.state() == TraceState::staged && !trace.beyond_recall()) {
      withdraw(trace, Withdrawal::expiry);
    } else if (trace.on_time(now)) {
      changed(*session->second, trace);
    }
  }
  arm(*session->second);
}

void TraceSessions::on_session_deadline(const SessionId& id) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  for (auto& [pid, trace] : session->second->session.traces) {
    if (trace.state() == TraceState::staged && !trace.beyond_recall()) {
      withdraw(trace, Withdrawal::deadline);
    } else if (trace.on_deadline(world_.clock.monotonic())) {
      changed(*session->second, trace);
    }
  }
}

void TraceSessions::withdraw(const ProcessTrace& trace, Withdrawal why) {
  withdrawing_[trace.key().pid] = {trace.request().trace_id, why};
  world_.kineto.withdraw(trace.key(), trace.request().trace_id);
}

bool TraceSessions::take_back(ProcessTrace& trace, Withdrawal why, bool withdrawn) {
  const MonotonicTime now = world_.clock.monotonic();
  switch (why) {
    case Withdrawal::expiry:
      return withdrawn && trace.on_time(now);
    case Withdrawal::deadline:
      return trace.on_deadline(now);
    case Withdrawal::cancel:
      return trace.on_cancel(now, withdrawn);
  }
  return false;
}

void TraceSessions::end_if_done(Live& live) {
  if (live.session.phase != SessionPhase::committed || !live.session.all_ended()) return;
  live.session.phase = SessionPhase::ended;
  live.deadline.cancel();
  // Not at once: a worker's callback may be what led here.
  world_.loop.post([this, id = live.session.id] {
    const auto session = sessions_.find(id);
    if (session != sessions_.end()) session->second->plan.workers.clear();
  });
  forget_later(live);
}

void TraceSessions::forget_later(Live& live) {
  live.expiry = world_.loop.after(
      kKeepEnded, [this, id = live.session.id] { world_.loop.post([this, id] { forget(id); }); });
}

void TraceSessions::forget_old() {
  while (sessions_.size() >= kMaxEnded) {
    auto oldest = sessions_.end();
    for (auto place = sessions_.begin(); place != sessions_.end(); ++place) {
      if (place->second->session.phase != SessionPhase::ended) continue;
      if (oldest == sessions_.end() ||
          place->second->session.created < oldest->second->session.created) {
        oldest = place;
      }
    }
    if (oldest == sessions_.end()) return;
    forget(SessionId(oldest->first));
  }
}

TraceSessions::Live* TraceSessions::find_for(const Caller& caller, const SessionId& id,
                                             Error& error) {
  const auto session = sessions_.find(id);
  // One answer for "not there" and "not yours": ids are not to be probed. A session of the host's
  // root may reach over all users: another uid 0 has no part in it.
  const auto reaches = [&](const Caller& owner) {
    return may_reach(caller, owner.tenant) && (caller.host_root || !owner.host_root);
  };
  if (session == sessions_.end() || !reaches(session->second->session.owner)) {
    error = {ErrorKind::not_found,
             "no session " + id.value + " of yours: it never was, expired, or ended long ago"};
    return nullptr;
  }
  return session->second.get();
}

Result<std::unique_ptr<rpc::TraceService::Following>> TraceSessions::follow(
    const Caller& caller, const rpc::SessionRequest& request,
    std::function<void(const rpc::FollowFrame&)> on_frame) {
  Error error;
  Live* live = find_for(caller, SessionId{request.session}, error);
  if (live == nullptr) return std::unexpected(std::move(error));
  if (live->session.phase == SessionPhase::prepared) {
    return fail(ErrorKind::invalid, "session " + request.session + " is not committed yet");
  }
  rpc::FollowFrame frame;
  frame.session = live->session.id.value;
  for (const auto& [pid, trace] : live->session.traces) {
    frame.updates.push_back(to_update(trace, live->ranks[pid]));
  }
  frame.done = live->session.all_ended();
  const std::uint64_t token = live->next_follower++;
  live->followers->emplace(token, on_frame);
  auto following = std::make_unique<Follower>(live->followers, token);
  on_frame(frame);
  return following;
}

void TraceSessions::cancel(const Caller& caller, rpc::SessionRequest request,
                           rpc::Done<rpc::CancelReply> done) {
  Error error;
  Live* live = find_for(caller, SessionId{request.session}, error);
  if (live == nullptr) {
    done(std::unexpected(std::move(error)));
    return;
  }
  if (live->session.phase == SessionPhase::prepared) {
    world_.loop.post([this, id = live->session.id] { sessions_.erase(id); });
    done(rpc::CancelReply{});
    return;
  }
  auto cancelling = std::make_unique<Cancelling>();
  cancelling->done = std::move(done);
  for (auto& [pid, trace] : live->session.traces) {
    if (trace.state() == TraceState::staged && !trace.beyond_recall()) {
      cancelling->open[pid] = trace.request().trace_id;
      withdraw(trace, Withdrawal::cancel);
    } else if (trace.beyond_recall()) {
      cancelling->reply.beyond_recall.push_back(pid.value);
      if (trace.on_cancel(world_.clock.monotonic(), false)) changed(*live, trace);
    }
  }
  if (cancelling->open.empty()) {
    cancelling->done(std::move(cancelling->reply));
    return;
  }
  cancelling_.push_back(std::move(cancelling));
}

void TraceSessions::on_withdrawn(const KinetoWithdrawn& event) {
  const auto asked = withdrawing_.find(event.key.pid);
  if (asked != withdrawing_.end() && asked->second.trace_id == event.trace_id) {
    const Withdrawal why = asked->second.why;
    withdrawing_.erase(asked);
    with_trace(event.key, event.trace_id,
               [&](ProcessTrace& trace) { return take_back(trace, why, event.withdrawn); });
  }
  std::vector<std::unique_ptr<Cancelling>> ready;
  for (auto& cancelling : cancelling_) {
    const auto open = cancelling->open.find(event.key.pid);
    if (open == cancelling->open.end() || open->second != event.trace_id) continue;
    cancelling->open.erase(open);
    if (event.withdrawn) {
      ++cancelling->reply.withdrawn;
    } else {
      cancelling->reply.beyond_recall.push_back(event.key.pid.value);
    }
    if (cancelling->open.empty()) ready.push_back(std::move(cancelling));
  }
  std::erase(cancelling_, nullptr);
  for (const auto& cancelling : ready) cancelling->done(std::move(cancelling->reply));
}

void TraceSessions::write_journal_soon(Live& live) {
  if (live.session.phase == SessionPhase::prepared || live.journal.armed()) return;
  live.journal = world_.loop.after(kJournalDelay, [this, id = live.session.id] {
    const auto session = sessions_.find(id);
    if (session != sessions_.end()) write_journal(*session->second);
  });
}

void TraceSessions::write_journal(const Live& live) {
  journal_.write(live.session, world_.clock.monotonic(), world_.clock.wall());
}

void TraceSessions::restore_journal() {
  for (Session& session : journal_.read(world_.clock.monotonic(), world_.clock.wall())) {
    restore(std::move(session));
  }
}

void TraceSessions::forget(const SessionId& id) {
  journal_.remove(id);
  sessions_.erase(id);
}

}  // namespace dynolog
