// What became of the sessions of late; how long they are remembered, and on whose account.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kKeepEnded = std::chrono::hours(24);
constexpr std::size_t kMaxEnded = 128;
constexpr std::size_t kMaxEndedTraces = 4096;
constexpr Nanoseconds kJournalDelay = Milliseconds(50);
// A summary has some kilobytes: a list shows those of the newest traces.
constexpr std::size_t kMaxSummaries = 512;

}  // namespace

rpc::SessionRow TraceSessions::row_of(const Live& live, std::size_t& summaries) const {
  const Session& session = live.session;
  rpc::SessionRow row;
  row.session = session.id.value;
  row.user = world_.registry.user_name(session.owner.tenant.uid);
  row.created_ms = epoch_milliseconds(session.created);
  row.ended = session.phase == SessionPhase::ended;
  for (const auto& [pid, trace] : session.traces) {
    rpc::TraceUpdate update = update_of(live, trace);
    if (update.summary && summaries++ >= kMaxSummaries) update.summary.reset();
    row.traces.push_back(std::move(update));
    row.commands.push_back(live.process(pid).command);
  }
  if (world_.store == nullptr) return row;
  row.kept_bytes = world_.store->bytes_of(session.id);
  const auto until = world_.store->kept_until(session.id);
  if (until) row.kept_until_ms = epoch_milliseconds(*until);
  return row;
}

rpc::ListTracesReply TraceSessions::list_traces(const Caller& caller) {
  std::vector<const Live*> mine;
  for (const auto& [id, live] : sessions_) {
    Error ignored;
    if (live->session.phase == SessionPhase::prepared) continue;
    if (find_for(caller, id, ignored) != nullptr) mine.push_back(live.get());
  }
  std::ranges::sort(mine, [](const Live* one, const Live* other) {
    return one->session.created > other->session.created;
  });
  rpc::ListTracesReply reply;
  reply.host = world_.host;
  std::size_t summaries = 0;
  for (const Live* live : mine) reply.sessions.push_back(row_of(*live, summaries));
  if (world_.store == nullptr) return reply;
  reply.kept_bytes = world_.store->bytes_of(caller.tenant);
  reply.quota_bytes = world_.store->limits().tenant_bytes;
  reply.keep_s = std::chrono::duration<double>(world_.store->limits().age).count();
  return reply;
}

Result<rpc::DeleteTraceReply> TraceSessions::delete_trace(const Caller& caller,
                                                          const rpc::SessionRequest& request) {
  Error error;
  const Live* const live = find_for(caller, SessionId{request.session}, error);
  if (live == nullptr) return std::unexpected(std::move(error));
  if (live->session.phase != SessionPhase::ended) {
    return fail(ErrorKind::failed, "session " + request.session +
                                       " is still under way: wait for its end; what is written "
                                       "and nobody fetches is kept, and can be deleted then");
  }
  const SessionId id = live->session.id;
  rpc::DeleteTraceReply reply;
  if (world_.store != nullptr) reply.freed_bytes = world_.store->bytes_of(id);
  world_.log.info("trace {} deleted by {}: {} bytes freed", id.value, audit_name(caller),
                  reply.freed_bytes);
  world_.publish({.time = world_.clock.wall(),
                  .kind = "audit.trace_deleted",
                  .subject = id.value,
                  .text = "trace deleted by " + audit_name(caller),
                  .fields = {{"freed_bytes", std::to_string(reply.freed_bytes)}}});
  forget(id);
  return reply;
}

void TraceSessions::forget_later(Live& live) {
  const WallTime now = world_.clock.wall();
  Nanoseconds wait = std::max(Nanoseconds(0), live.session.created + kKeepEnded - now);
  if (world_.store != nullptr) {
    const auto until = world_.store->kept_until(live.session.id);
    if (until) wait = std::max(wait, Nanoseconds(*until - now));
  }
  live.expiry = world_.loop.after(
      wait, [this, id = live.session.id] { world_.loop.post([this, id] { forget(id); }); });
}

// The oldest of whoever has most of them: nobody's sessions push another's out.
void TraceSessions::forget_old() {
  for (;;) {
    std::map<Tenant, std::vector<const Session*>> ended;
    std::size_t sessions = 0;
    std::size_t traces = 0;
    for (const auto& [id, live] : sessions_) {
      if (live->session.phase != SessionPhase::ended) continue;
      ended[live->session.owner.tenant].push_back(&live->session);
      ++sessions;
      traces += live->session.traces.size();
    }
    if (sessions < kMaxEnded && traces <= kMaxEndedTraces) return;
    const auto heaviest =
        std::ranges::max_element(ended, {}, [](const auto& entry) { return entry.second.size(); });
    const auto oldest = std::ranges::min_element(heaviest->second, {}, &Session::created);
    forget(SessionId((*oldest)->id));
  }
}

void TraceSessions::forget(const SessionId& id) {
  journal_.remove(id);
  if (world_.store != nullptr) world_.store->remove(id);
  sessions_.erase(id);
}

void TraceSessions::write_journal_soon(Live& live) {
  if (live.session.phase == SessionPhase::prepared || live.journal.armed()) return;
  live.journal = world_.loop.after(kJournalDelay, [this, id = live.session.id] {
    if (Live* const mine = find(id)) write_journal(*mine);
  });
}

void TraceSessions::write_journal(Live& live) {
  live.journal.cancel();  // what it was to write is in this
  const std::string text =
      record_text(live.session, live.facts, world_.clock.monotonic(), world_.clock.wall());
  journal_.write(live.session.id, text);
  // That beside its kept traces outlives a reboot as they do.
  if (world_.store != nullptr) world_.store->write_session(live.session.id, text);
}

}  // namespace dynolog
