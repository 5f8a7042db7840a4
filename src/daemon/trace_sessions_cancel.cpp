// Taking back what was not handed over yet.
#include <utility>

#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {

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

void TraceSessions::cancel(const Caller& caller, rpc::SessionRequest request,
                           rpc::Done<rpc::CancelReply> done) {
  Error error;
  Live* const live = find_for(caller, SessionId{request.session}, error);
  if (live == nullptr) {
    done(std::unexpected(std::move(error)));
    return;
  }
  if (live->session.phase == SessionPhase::prepared) {
    world_.loop.post([this, id = live->session.id] { sessions_.erase(id); });
    done(rpc::CancelReply{});
    return;
  }
  // What is written already is not undone; but nobody is going to fetch it.
  live->facts.attended = false;
  auto cancelling = std::make_unique<Cancelling>();
  cancelling->done = std::move(done);
  for (auto& [pid, trace] : live->session.traces) {
    if (trace.state() == TraceState::staged && !trace.beyond_recall()) {
      cancelling->open[pid] = trace.request().trace_id;
      withdraw(trace, Withdrawal::cancel);
    } else if (trace.beyond_recall() && trace.state() != TraceState::written) {
      cancelling->reply.beyond_recall.push_back(pid.value);
      if (trace.on_cancel(world_.clock.monotonic(), false)) changed(*live, trace);
    }
  }
  reconsider_keeping(live->session.id);
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

}  // namespace dynolog
