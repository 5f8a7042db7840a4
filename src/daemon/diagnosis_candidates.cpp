// The table and the scan, put together by process.
#include "daemon/diagnosis_candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "processes/diagnosis.h"

namespace dynolog {
namespace {

Candidate of_silent(const ScannedProcess& process, MonotonicTime now) {
  Candidate candidate;
  candidate.entry.key = process.facts.key;
  candidate.entry.uid = process.facts.uid;
  // As if it had just called: nothing is to be skipped for its silence here.
  candidate.entry.first_seen = now;
  candidate.entry.last_poll = now;
  candidate.entry.facts = process.facts;
  candidate.signs = process.signs;
  return candidate;
}

std::vector<Candidate> merged(const std::vector<const ProcessEntry*>& registered,
                              const std::vector<ScannedProcess>& scanned, const Caller& caller,
                              MonotonicTime now) {
  std::map<ProcessKey, Candidate> by_key;
  for (const ProcessEntry* entry : registered) {
    Candidate& candidate = by_key[entry->key];
    candidate.entry = *entry;
    candidate.registered = true;
  }
  for (const ScannedProcess& process : scanned) {
    const auto known = by_key.find(process.facts.key);
    if (known == by_key.end()) {
      by_key.emplace(process.facts.key, of_silent(process, now));
    } else {
      std::optional<ProcessFacts>& facts = known->second.entry.facts;
      facts = facts ? renewed(*facts, process.facts) : process.facts;
      known->second.signs = process.signs;
    }
  }
  std::vector<Candidate> candidates;
  for (auto& [key, candidate] : by_key) {
    if (may_reach(caller, candidate.entry)) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

void mark_wanted(const Selection& selection, const Caller& caller, MonotonicTime now,
                 const std::vector<const ProcessEntry*>& entries, Candidates& candidates) {
  if (selection.empty()) {
    for (Candidate& candidate : candidates.all) candidate.wanted = true;
    return;
  }
  const Selected selected = select_processes(entries, selection, caller, now);
  // What a trace would skip is meant too.
  std::set<Pid> pids;
  for (const ProcessEntry* entry : selected.chosen) pids.insert(entry->key.pid);
  for (const Skipped& skipped : selected.skipped) pids.insert(skipped.pid);
  for (Candidate& candidate : candidates.all) {
    candidate.wanted = pids.contains(candidate.entry.key.pid);
    candidate.named = candidate.wanted && !selection.pids.empty();
  }
  for (const std::int64_t pid : selection.pids) {
    const bool found = std::ranges::any_of(candidates.all, [pid](const Candidate& candidate) {
      return candidate.wanted &&
             (candidate.entry.key.pid.value == pid ||
              (candidate.entry.facts && candidate.entry.facts->namespace_pid == pid));
    });
    if (!found) candidates.unmatched.push_back(pid);
  }
}

}  // namespace

Candidates find_candidates(const std::vector<const ProcessEntry*>& registered,
                           const std::vector<ScannedProcess>& scanned, const Selection& selection,
                           const Caller& caller, MonotonicTime now) {
  Candidates candidates;
  candidates.all = merged(registered, scanned, caller, now);
  std::vector<const ProcessEntry*> entries;
  for (const Candidate& candidate : candidates.all) entries.push_back(&candidate.entry);
  std::vector<const ScannedProcess*> seen;
  for (const ScannedProcess& process : scanned) seen.push_back(&process);
  const Parts parts = parts_of(entries);
  for (Candidate& candidate : candidates.all) {
    const auto part = parts.find(candidate.entry.key.pid);
    if (part != parts.end()) candidate.part = part->second;
    if (!candidate.registered) {
      candidate.forked_from = forked_from({*candidate.entry.facts, candidate.signs}, seen);
    }
  }
  mark_wanted(selection, caller, now, entries, candidates);
  return candidates;
}

}  // namespace dynolog
