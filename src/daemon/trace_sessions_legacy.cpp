// The existing client's one call: finds, stages, answers.
#include <algorithm>
#include <utility>

#include "base/number.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {
namespace {

bool matches_pid(const ProcessEntry& entry, const std::vector<std::int64_t>& pids) {
  const bool every = pids.empty() || (pids.size() == 1 && pids.front() == 0);
  if (every) return true;
  // The existing daemon knows a process by the list that it sends: a launcher's pid means its
  // children too.
  return std::any_of(pids.begin(), pids.end(), [&](std::int64_t pid) {
    const auto& claimed = entry.claimed_pids;
    return pid == entry.key.pid.value || (entry.facts && pid == entry.facts->namespace_pid) ||
           std::find(claimed.begin(), claimed.end(), pid) != claimed.end();
  });
}

bool matches_job(const ProcessEntry& entry, std::int64_t job) {
  if (entry.claimed_job == job) return true;
  return entry.facts && parse_number<std::int64_t>(entry.facts->job.job.value) == job;
}

// The client counts in pids as the process knows its own.
std::int64_t reported_pid(const ProcessEntry& entry) {
  return entry.facts ? entry.facts->namespace_pid : entry.key.pid.value;
}

}  // namespace

void TraceSessions::legacy_trace(const Caller& caller, rpc::LegacyTraceRequest request,
                                 rpc::Done<rpc::LegacyTraceReply> done) {
  if (auto may = may_plan(caller); !may) {
    done(std::unexpected(std::move(may.error())));
    return;
  }
  // Refused even when nothing matches: the text is wrong for every process.
  if (const auto checked = check_trace_config(request.config, {}, {}, "0"); !checked) {
    done(std::unexpected(checked.error()));
    return;
  }
  world_.registry.when_fresh(
      keys_for(caller, world_.registry.table()), kFactsAge,
      [this, caller, request = std::move(request), done = std::move(done)]() mutable {
        legacy_known(caller, std::move(request), std::move(done));
      });
}

void TraceSessions::legacy_known(const Caller& caller, rpc::LegacyTraceRequest request,
                                 rpc::Done<rpc::LegacyTraceReply> done) {
  // Again: any number may have waited for the facts.
  if (auto may = may_plan(caller); !may) {
    done(std::unexpected(std::move(may.error())));
    return;
  }
  rpc::LegacyTraceReply reply;
  std::vector<ProcessKey> chosen;
  const MonotonicTime now = world_.clock.monotonic();
  for (const ProcessEntry* entry : world_.registry.table().all()) {
    if (!may_reach(caller, *entry)) continue;
    if (!matches_job(*entry, request.job_id) || !matches_pid(*entry, request.pids)) continue;
    reply.processes_matched.push_back(reported_pid(*entry));
    const bool busy =
        active_.contains(entry->key.pid) || dynolog::state_of(*entry, now) == ProcessState::busy;
    if (busy) {
      ++reply.activity_profilers_busy;
    } else if (std::ssize(chosen) < request.process_limit) {
      chosen.push_back(entry->key);
    }
  }
  if (chosen.empty()) {
    done(std::move(reply));
    return;
  }
  plan(
      caller, std::move(chosen), PlaceWishes{},
      [config = std::move(request.config)](const ProcessFacts& facts, const TorchFacts& torch,
                                           const TracePlanner::Naming& naming) {
        return check_trace_config(config, facts, torch, naming.trace_id);
      },
      [this, reply = std::move(reply), done = std::move(done)](Live& live, Plan ready) mutable {
        for (const PlanItem& item : ready.items) {
          const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
          if (!item.problem.empty()) {
            world_.log.warning("process {} is not traced: {}", item.key.pid.value, item.problem);
          } else if (entry != nullptr) {
            reply.activity_profilers_triggered.push_back(reported_pid(*entry));
          }
        }
        live.plan = std::move(ready);
        stage_all(live);
        done(std::move(reply));
      });
}

}  // namespace dynolog
