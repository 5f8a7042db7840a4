// Which processes a request means.
#include "processes/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace dynolog {
namespace {

// "123" of job "123_4" (Slurm), "123[4]" (LSF, PBS) or "123.server" (PBS).
bool is_part_of(std::string_view job, std::string_view wanted) {
  return job.size() > wanted.size() && job.starts_with(wanted) &&
         std::string_view("_[.").find(job[wanted.size()]) != std::string_view::npos;
}

bool matches_job(const ProcessEntry& entry, std::string_view wanted) {
  const JobFacts none;
  const JobFacts& job = entry.facts ? entry.facts->job : none;
  if (!job.scheduler.empty() && wanted.starts_with(job.scheduler + ":")) {
    wanted.remove_prefix(job.scheduler.size() + 1);
  }
  if (wanted.empty()) return false;
  if (job.job.value.empty()) {
    // The client itself sends SLURM_JOB_ID when it has one.
    return entry.claimed_job != 0 && std::to_string(entry.claimed_job) == wanted;
  }
  if (job.job.value == wanted || job.allocation == wanted) return true;
  if (!job.step.empty() && job.job.value + "." + job.step == wanted) return true;
  // Addresses and names of pods hold dots and underscores of their own.
  const bool numbered =
      job.scheduler == "slurm" || job.scheduler == "pbs" || job.scheduler == "lsf";
  return numbered && is_part_of(job.job.value, wanted);
}

bool names_pid(const ProcessEntry& entry, const Selection& selection) {
  return std::ranges::any_of(selection.pids, [&](std::int64_t pid) {
    return pid == entry.key.pid.value ||
           (entry.facts && entry.facts->namespace_pid != 0 && pid == entry.facts->namespace_pid);
  });
}

bool matches(const ProcessEntry& entry, const Selection& selection) {
  if (selection.job && !matches_job(entry, *selection.job)) return false;
  if (!selection.pids.empty() && !names_pid(entry, selection)) return false;
  if (!selection.ranks.empty()) {
    if (!entry.facts || !entry.facts->job.rank) return false;
    if (std::ranges::find(selection.ranks, *entry.facts->job.rank) == selection.ranks.end()) {
      return false;
    }
  }
  if (selection.uid && entry.uid != *selection.uid) return false;
  if (selection.command) {
    if (!entry.facts) return false;
    if (entry.facts->command.find(*selection.command) == std::string::npos) return false;
  }
  return true;
}

using JobKey = std::tuple<Uid, std::string, std::string>;  // user, container, job

JobKey job_key(const ProcessEntry& entry) {
  if (!entry.facts) return {entry.uid, "", ""};
  return {entry.uid, entry.facts->container, entry.facts->job.job.value};
}

bool is_launcher(const ProcessEntry& entry) { return entry.facts && entry.facts->job.launcher; }

// A torchrun agent does not see the variables that it sets for its workers, so outside a scheduler
// its job stays unknown: then any worker of the tenant counts.
bool has_workers(const ProcessEntry& launcher, const std::vector<const ProcessEntry*>& entries) {
  const JobKey key = job_key(launcher);
  const bool unknown = std::get<2>(key).empty();
  return std::ranges::any_of(entries, [&](const ProcessEntry* entry) {
    if (is_launcher(*entry) || !entry->facts) return false;
    const JobKey other = job_key(*entry);
    if (std::get<0>(other) != std::get<0>(key) || std::get<1>(other) != std::get<1>(key)) {
      return false;
    }
    if (!unknown) return std::get<2>(other) == std::get<2>(key);
    return entry->facts->job.local_rank.has_value();
  });
}

bool rank_order(const ProcessEntry* left, const ProcessEntry* right) {
  const auto key = [](const ProcessEntry* entry) {
    const std::optional<int> rank = entry->facts ? entry->facts->job.rank : std::nullopt;
    return std::pair(rank.value_or(std::numeric_limits<int>::max()), entry->key.pid);
  };
  return key(left) < key(right);
}

std::string stalled_reason(const ProcessEntry& entry, MonotonicTime now) {
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - entry.last_poll);
  return fmt::format("stalled: last poll {} s ago", age.count());
}

// Drops what would not answer, what is a launcher, and what is over the limit.
void sort_out(const std::vector<const ProcessEntry*>& matched,
              const std::vector<const ProcessEntry*>& reachable, const Selection& selection,
              MonotonicTime now, Selected& selected) {
  for (const ProcessEntry* entry : matched) {
    const Pid pid = entry->key.pid;
    if (is_launcher(*entry) && !names_pid(*entry, selection) && has_workers(*entry, reachable)) {
      selected.skipped.push_back({pid, "launcher of the job: it registers, but trains nothing"});
    } else if (!names_pid(*entry, selection) && state_of(*entry, now) == ProcessState::stalled) {
      selected.skipped.push_back({pid, stalled_reason(*entry, now)});
    } else if (selection.process_limit > 0 && selected.chosen.size() >= selection.process_limit) {
      selected.skipped.push_back(
          {pid, fmt::format("over the limit of {} processes", selection.process_limit)});
    } else {
      selected.chosen.push_back(entry);
    }
  }
}

// Unregistered or another user's: which of the two is nobody's business who may not reach it.
std::vector<std::string> unmatched_names(const std::vector<const ProcessEntry*>& reachable,
                                         const std::vector<const ProcessEntry*>& matched,
                                         const Selection& selection) {
  std::vector<std::string> sentences;
  for (const std::int64_t pid : selection.pids) {
    Selection one;
    one.pids = {pid};
    const bool found = std::ranges::any_of(
        reachable, [&](const ProcessEntry* entry) { return names_pid(*entry, one); });
    if (!found) {
      sentences.push_back(fmt::format("pid {}: not registered with the daemon, or not yours", pid));
    }
  }
  for (const int rank : selection.ranks) {
    const bool found = std::ranges::any_of(matched, [&](const ProcessEntry* entry) {
      return entry->facts && entry->facts->job.rank == rank;
    });
    if (!found) sentences.push_back(fmt::format("rank {}: no such process here", rank));
  }
  return sentences;
}

bool several_owners(const std::vector<const ProcessEntry*>& chosen) {
  std::set<JobKey> jobs;
  for (const ProcessEntry* entry : chosen) jobs.insert(job_key(*entry));
  return jobs.size() > 1;
}

}  // namespace

Selected select_processes(const std::vector<const ProcessEntry*>& entries,
                          const Selection& selection, const Caller& caller, MonotonicTime now) {
  std::vector<const ProcessEntry*> reachable;
  std::ranges::copy_if(entries, std::back_inserter(reachable),
                       [&](const ProcessEntry* entry) { return may_reach(caller, *entry); });
  std::ranges::sort(reachable, rank_order);
  std::vector<const ProcessEntry*> matched;
  std::ranges::copy_if(reachable, std::back_inserter(matched),
                       [&](const ProcessEntry* entry) { return matches(*entry, selection); });
  Selected selected;
  sort_out(matched, reachable, selection, now, selected);
  selected.unmatched = unmatched_names(reachable, matched, selection);
  selected.ambiguous =
      caller.host_root && selection.empty() && !selection.all && several_owners(selected.chosen);
  return selected;
}

}  // namespace dynolog
