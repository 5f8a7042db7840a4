// Committing a session: everything that is handed over is staged, journalled and put on record.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "daemon/process_owner.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {
namespace {

// As if the caller had named it.
void name_start(TraceRequest& request, WallTime start) {
  const Milliseconds since_epoch(epoch_milliseconds(start));
  request.start_lead.reset();
  request.asked_start = WallTime(since_epoch);
  request.config += fmt::format("PROFILE_START_TIME={}\n", since_epoch.count());
}

}  // namespace

void TraceSessions::commit(const Caller& caller, rpc::CommitRequest request,
                           rpc::Done<rpc::CommitReply> done) {
  Error error;
  Live* const live = find_for(caller, SessionId{request.session}, error);
  if (live == nullptr) {
    done(std::unexpected(std::move(error)));
    return;
  }
  if (live->session.phase != SessionPhase::prepared) {
    done(fail(ErrorKind::invalid, "session " + request.session + " is already committed"));
    return;
  }
  constexpr double kMaxDeadline_s = 7 * 24 * 3600;
  if (!(request.deadline_s >= 0 && request.deadline_s <= kMaxDeadline_s)) {
    done(fail(ErrorKind::invalid, "deadline_s must be between 0 and 604800"));
    return;
  }
  if (request.deadline_s > 0) {
    const auto wait =
        std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(request.deadline_s));
    live->session.deadline = world_.clock.monotonic() + wait;
    live->deadline =
        world_.loop.after(wait, [this, id = live->session.id] { on_session_deadline(id); });
  }
  live->facts.attended = request.attended;
  const std::size_t staged = stage_all(*live);
  done(rpc::CommitReply{.session = live->session.id.value, .staged = staged});
}

std::size_t TraceSessions::stage_all(Live& live) {
  live.session.phase = SessionPhase::committed;
  live.expiry.cancel();
  const WallTime now = world_.clock.wall();
  for (PlanItem& item : std::exchange(live.plan.items, {})) {
    if (!item.problem.empty()) continue;
    if (live.start_in) name_start(item.request, now + *live.start_in);
    stage(live, std::move(item));
  }
  audit_start(live);
  // The journal first: a daemon that dies now knows what it may have handed over.
  write_journal(live);
  std::size_t staged = 0;
  for (const auto& [pid, trace] : live.session.traces) {
    if (trace.state() != TraceState::staged) continue;
    world_.kineto.put(trace.key(), live.session.tenants[pid].uid, trace.request());
    ++staged;
  }
  arm(live);
  end_if_done(live);
  return staged;
}

// The identity is read again now: between plan and commit the pid may have become another user's.
// True when that ended the trace.
bool TraceSessions::ends_unstaged(ProcessTrace& trace, const PlanItem& item, MonotonicTime now) {
  const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
  const auto owner = owner_now(world_.root, item.key);
  if (entry == nullptr || entry->key != item.key || !owner) return trace.on_process_end(now);
  if (*owner != item.tenant.uid) return trace.on_identity_changed(now);
  return active_.contains(item.key.pid) && trace.on_poll_busy_before_hand_over(now);
}

void TraceSessions::stage(Live& live, PlanItem item) {
  const MonotonicTime now = world_.clock.monotonic();
  const Pid pid = item.key.pid;
  live.session.tenants[pid] = item.tenant;
  ProcessTrace trace(item.key, std::move(item.request), now, world_.timeouts);
  if (!ends_unstaged(trace, item, now)) {
    active_[pid] = live.session.id;
    FilesWorker* const worker = live.worker_of(pid);
    if (worker == nullptr || !item.files_unknown.empty()) {
      trace.on_files_unknown(now, item.files_unknown);
    } else {
      worker->watch(pid, expected_id(trace.request()), expected_file(trace.request()));
    }
  }
  live.session.traces.insert_or_assign(pid, std::move(trace));
}

void TraceSessions::audit_start(const Live& live) {
  constexpr std::size_t kMostNamed = 20;  // a line is for reading
  std::string pids;
  std::string files;
  std::size_t named = 0;
  for (const auto& [pid, trace] : live.session.traces) {
    if (named++ == kMostNamed) break;
    const TracePlace& place = trace.request().place;
    pids += fmt::format("{}{}", pids.empty() ? "" : " ", pid.value);
    files += fmt::format("{}{}", files.empty() ? "" : " ",
                         place.target.empty() ? place.file : place.target);
  }
  if (live.session.traces.size() > kMostNamed) {
    pids += fmt::format(" and {} more", live.session.traces.size() - kMostNamed);
  }
  const std::string who = audit_name(live.session.owner);
  world_.log.info("trace {} started by {}: processes {}; files {}", live.session.id.value, who,
                  pids, files);
  world_.publish({.time = world_.clock.wall(),
                  .kind = "audit.trace_started",
                  .subject = live.session.id.value,
                  .text = "trace started by " + who,
                  .fields = {{"processes", pids}, {"files", files}}});
}

}  // namespace dynolog
