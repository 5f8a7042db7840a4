// Taking up the sessions of an earlier daemon.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/process_owner.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {
void TraceSessions::restore(Session session) {
  const MonotonicTime now = world_.clock.monotonic();
  auto live = std::make_unique<Live>();
  live->session = std::move(session);
  const SessionId id = live->session.id;
  for (auto& [pid, trace] : live->session.traces) {
    if (is_end(trace.state())) continue;
    const auto uid = owner_now(world_.root, trace.key());
    if (!uid) {
      trace.on_process_end(now);
      continue;
    }
    // One that was handed over before goes on: nothing more is given to it.
    if (*uid != live->session.tenants[pid].uid && trace.on_identity_changed(now)) continue;
    active_[pid] = id;
  }
  Live& placed = *sessions_.emplace(id, std::move(live)).first->second;
  if (placed.session.deadline) {
    placed.deadline = world_.loop.after(std::max(Nanoseconds(0), *placed.session.deadline - now),
                                        [this, id] { on_session_deadline(id); });
  }
  watch_restored(placed);
  for (const auto& [pid, trace] : placed.session.traces) {
    if (trace.state() == TraceState::staged && !trace.beyond_recall()) {
      world_.kineto.put(trace.key(), placed.session.tenants[pid].uid, trace.request());
    }
  }
  if (placed.session.phase == SessionPhase::ended) {
    forget_later(placed);
    return;
  }
  const auto open = std::ranges::count_if(
      placed.session.traces, [](const auto& entry) { return !is_end(entry.second.state()); });
  world_.log.info("session {} of an earlier daemon: {} of {} traces are still under way", id.value,
                  open, placed.session.traces.size());
  arm(placed);
  end_if_done(placed);
}

void TraceSessions::watch_restored(Live& live) {
  const SessionId id = live.session.id;
  std::map<Tenant, std::vector<FilesIdentity>> identities;
  for (const auto& [pid, trace] : live.session.traces) {
    if (is_end(trace.state())) continue;
    const Tenant& tenant = live.session.tenants[pid];
    identities[tenant].push_back({trace.key(), tenant.uid});
  }
  for (auto& [tenant, list] : identities) {
    const auto pids = list;
    auto worker = FilesWorker::start(
        world_.loop, world_.log, world_.executable, std::move(list),
        [this, id, who = tenant](FileEvent event) { on_file(id, who, std::move(event)); },
        [this, id, who = tenant](const std::string& why) { on_worker_end(id, who, why); });
    if (!worker) {
      on_worker_end(id, tenant, worker.error().message);
      continue;
    }
    FilesWorker& started = *live.plan.workers.emplace(tenant, std::move(*worker)).first->second;
    for (const FilesIdentity& identity : pids) {
      const Pid pid = identity.process.pid;
      const ProcessTrace& trace = live.session.traces.at(pid);
      // The file may have been written while no daemon ran: the trace id tells whether it is ours.
      started.prepare(pid, trace.request().file, [](Result<PreparedDirectory>) {});
      started.watch(pid, trace.request().file, expected_id(trace.request()),
                    expected_file(trace.request()));
    }
  }
}

}  // namespace dynolog
