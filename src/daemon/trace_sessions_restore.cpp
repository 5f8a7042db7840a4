// Taking up the sessions of an earlier daemon.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/process_owner.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {

void TraceSessions::restore_journal() {
  for (SessionRecord& record : journal_.read(world_.clock.monotonic(), world_.clock.wall())) {
    restore(std::move(record));
  }
  restore_kept();
}

// After a reboot the journal is gone, and the store is not.
void TraceSessions::restore_kept() {
  if (world_.store == nullptr) return;
  for (const SessionId& id : world_.store->sessions()) {
    if (sessions_.contains(id)) continue;
    auto record =
        parse_record(world_.store->session_text(id), world_.clock.monotonic(), world_.clock.wall());
    if (!record || record->session.id != id) {
      world_.log.warning(
          "the kept traces of session {} are removed, nobody knows whose they are: {}", id.value,
          record ? "its record is another's" : record.error().message);
      world_.store->remove(id);
      continue;
    }
    restore(std::move(*record));
  }
}

void TraceSessions::restore(SessionRecord record) {
  const MonotonicTime now = world_.clock.monotonic();
  auto live = std::make_unique<Live>();
  live->session = std::move(record.session);
  live->facts = std::move(record.facts);
  const SessionId id = live->session.id;
  Live& placed = *sessions_.emplace(id, std::move(live)).first->second;
  for (auto& [pid, trace] : placed.session.traces) {
    if (!is_end(trace.state())) restore_trace(placed, trace);
  }
  if (placed.session.deadline) {
    placed.deadline = world_.loop.after(std::max(Nanoseconds(0), *placed.session.deadline - now),
                                        [this, id] { on_session_deadline(id); });
  }
  watch_again(placed, std::nullopt);
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

void TraceSessions::restore_trace(Live& live, ProcessTrace& trace) {
  const MonotonicTime now = world_.clock.monotonic();
  const Pid pid = trace.key().pid;
  if (trace.state() == TraceState::written) {
    if (world_.store != nullptr && world_.store->holds(live.session.id, pid)) {
      trace.on_delivered(now, {.location = TraceDelivery::Location::daemon,
                               .path = "",
                               .file_id = "",
                               .notes = {"the file is still there too: " + trace.written_path()}});
    } else if (expected_id(trace.request()).empty()) {
      trace.on_undelivered(now,
                           "the daemon was restarted meanwhile, and cannot tell any more "
                           "whether a file of that name is this one");
    } else if (!owner_now(world_.root, trace.key())) {
      trace.on_undelivered(now, "the daemon was restarted meanwhile, and the process has ended");
    }
    return;
  }
  const auto uid = owner_now(world_.root, trace.key());
  if (!uid) {
    trace.on_process_end(now);
    return;
  }
  // One that was handed over before goes on: nothing more is given to it.
  if (*uid != live.session.tenants[pid].uid && trace.on_identity_changed(now)) return;
  active_[pid] = live.session.id;
}

// With new workers. The file may have been written while nobody looked: the trace id tells whether
// it is ours.
void TraceSessions::watch_again(Live& live, const std::optional<Tenant>& only) {
  const SessionId id = live.session.id;
  std::map<Tenant, std::vector<FilesIdentity>> identities;
  for (const auto& [pid, trace] : live.session.traces) {
    const Tenant& tenant = live.session.tenants[pid];
    if (is_end(trace.state()) || (only && tenant != *only)) continue;
    identities[tenant].push_back({trace.key(), tenant.uid});
  }
  for (auto& [tenant, list] : identities) {
    const auto pids = list;
    auto worker = world_.start_worker(
        std::move(list),
        [this, id, who = tenant](FileEvent event) { on_file(id, who, std::move(event)); },
        [this, id, who = tenant](const std::string& why) { on_worker_end(id, who, why); });
    if (!worker) {
      on_worker_end(id, tenant, worker.error().message);
      continue;
    }
    FilesWorker& started = *live.plan.workers.emplace(tenant, std::move(*worker)).first->second;
    for (const FilesIdentity& identity : pids) {
      const Pid pid = identity.process.pid;
      const TraceRequest& request = live.session.traces.at(pid).request();
      live.looked_for.insert(pid);
      started.prepare(pid, places_of(request.place),
                      awaited<Result<PreparedPlaces>>(
                          live, pid, [this](Live& mine, ProcessTrace& its, Result<PreparedPlaces>) {
                            mine.looked_for.erase(its.key().pid);
                            arm(mine);
                          }));
      started.watch(pid, expected_id(request), expected_file(request));
    }
  }
}

}  // namespace dynolog
