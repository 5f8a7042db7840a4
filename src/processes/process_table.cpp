// The table of registered processes: rhythm of their polls, reuse of pids, what is known of each.
#include "processes/process_table.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "processes/torch_version.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kDoubled = Milliseconds(250);  // a client's second try, not its rhythm
constexpr Nanoseconds kDefaultPeriod = std::chrono::seconds(5);
constexpr Nanoseconds kLeastSilence = std::chrono::seconds(2);

// A shorter gap is a new rhythm at once; a longer one may be polls that were lost, and counts when
// it comes twice.
void take_gap(ProcessEntry& entry, Nanoseconds gap) {
  if (gap < kDoubled) return;
  if (!entry.poll_period || gap < *entry.poll_period / 2) {
    entry.poll_period = gap;
    entry.long_gaps = 0;
    return;
  }
  if (gap > *entry.poll_period * 3 / 2) {
    if (++entry.long_gaps < 2) return;
    entry.poll_period = gap;
    entry.long_gaps = 0;
    return;
  }
  entry.long_gaps = 0;
  entry.poll_period = (*entry.poll_period * 3 + gap) / 4;
}

ProcessEntry new_entry(const PollSeen& poll) {
  ProcessEntry entry;
  entry.key = poll.key;
  entry.first_seen = poll.time;
  return entry;
}

}  // namespace

std::string_view to_string(ProcessState state) {
  switch (state) {
    case ProcessState::idle:
      return "idle";
    case ProcessState::busy:
      return "busy";
    case ProcessState::stalled:
      return "stalled";
  }
  return "";
}

ProcessTable::PollResult ProcessTable::on_poll(const PollSeen& poll) {
  PollResult result;
  auto found = by_pid_.find(poll.key.pid);
  if (found != by_pid_.end() && found->second.key != poll.key) {
    by_pid_.erase(found);
    found = by_pid_.end();
    result.reused = true;
  }
  if (found == by_pid_.end()) {
    if (by_pid_.size() >= kMaxProcesses) {
      result.known = false;
      return result;
    }
    found = by_pid_.emplace(poll.key.pid, new_entry(poll)).first;
    result.first = true;
  } else {
    take_gap(found->second, poll.time - found->second.last_poll);
  }
  ProcessEntry& entry = found->second;
  if (!result.first && entry.uid != poll.uid) {
    // What was read about it was read of another user's process, as far as trust goes.
    entry.facts.reset();
    entry.torch.reset();
    result.first = true;
  }
  entry.uid = poll.uid;
  entry.endpoint = poll.endpoint;
  entry.claimed_job = poll.claimed_job;
  entry.claimed_pids = poll.claimed_pids;
  entry.last_poll = std::max(entry.last_poll, poll.time);
  entry.last_poll_wall = poll.wall;
  entry.last_idle = poll.idle;
  ++entry.polls;
  return result;
}

void ProcessTable::set_facts(const ProcessKey& key, ProcessFacts facts) {
  const auto found = by_pid_.find(key.pid);
  if (found != by_pid_.end() && found->second.key == key) found->second.facts = std::move(facts);
}

void ProcessTable::set_torch(const ProcessKey& key, TorchFacts torch) {
  const auto found = by_pid_.find(key.pid);
  if (found != by_pid_.end() && found->second.key == key) found->second.torch = std::move(torch);
}

bool ProcessTable::remove(const ProcessKey& key) {
  const auto found = by_pid_.find(key.pid);
  if (found == by_pid_.end() || found->second.key != key) return false;
  by_pid_.erase(found);
  return true;
}

const ProcessEntry* ProcessTable::find(Pid pid) const {
  const auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? nullptr : &found->second;
}

std::vector<const ProcessEntry*> ProcessTable::all() const {
  std::vector<const ProcessEntry*> entries;
  entries.reserve(by_pid_.size());
  for (const auto& [pid, entry] : by_pid_) entries.push_back(&entry);
  return entries;
}

std::optional<Tenant> tenant_of(const ProcessEntry& entry) {
  if (!entry.facts || entry.facts->uid != entry.uid) return std::nullopt;
  return Tenant{entry.uid, entry.facts->container};
}

bool may_reach(const Caller& caller, const ProcessEntry& entry) {
  if (caller.host_root) return true;
  const std::optional<Tenant> tenant = tenant_of(entry);
  return tenant && may_reach(caller, *tenant);
}

ProcessState state_of(const ProcessEntry& entry, MonotonicTime now) {
  const Nanoseconds period = entry.poll_period.value_or(kDefaultPeriod);
  if (now - entry.last_poll > std::max(period * 2, kLeastSilence)) return ProcessState::stalled;
  return entry.last_idle ? ProcessState::idle : ProcessState::busy;
}

std::optional<std::string> at_risk(const ProcessEntry& entry) {
  if (!entry.torch || entry.torch->has_base_configuration) return std::nullopt;
  const auto version = torch_version(entry.torch->version);
  if (!version || version->major != 2 || version->minor < 7 || version->minor > 9) {
    return std::nullopt;
  }
  return "torch " + clean_text(entry.torch->version, 40) +
         " may crash at its next start while a daemon runs: it needs a non-empty "
         "/etc/libkineto.conf in its root directory, or KINETO_CONFIG naming a non-empty file, for "
         "example with the line ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1";
}

}  // namespace dynolog
