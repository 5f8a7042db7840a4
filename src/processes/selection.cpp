// Which processes a request means.
#include "processes/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "processes/family.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxShownContainer = 80;

// "123" of job "123_4" (Slurm), "123[4]" (LSF, PBS) or "123.server" (PBS).
bool is_part_of(std::string_view job, std::string_view wanted) {
  return job.size() > wanted.size() && job.starts_with(wanted) &&
         std::string_view("_[.").find(job[wanted.size()]) != std::string_view::npos;
}

bool matches_job(const ProcessEntry& entry, const JobFacts& job, std::string_view wanted) {
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

// What a container runtime or Kubernetes made up, not a name that somebody gave.
bool is_generated(std::string_view id) {
  constexpr std::size_t kLeast = 32;
  return id.size() >= kLeast && id.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

// "pod" and its uid, in which systemd's slices have '_' for '-'.
std::string uid_of_pod(std::string_view id) {
  constexpr std::string_view kPod = "pod";
  if (id.starts_with(kPod)) id.remove_prefix(kPod.size());
  std::string uid(id);
  std::ranges::replace(uid, '_', '-');
  return uid;
}

// "ID" or "ID@PLACE", as container_of() makes it.
bool matches_container(std::string_view container, std::string_view wanted) {
  if (container.empty() || wanted.empty()) return false;
  const std::string_view id = container.substr(0, container.find('@'));
  if (container == wanted || id == wanted) return true;
  const bool long_enough = wanted.size() >= kMinContainerPrefix;
  if (!long_enough || !is_generated(uid_of_pod(id))) return false;
  return id.starts_with(wanted) ||
         (id.starts_with("pod") && uid_of_pod(id).starts_with(uid_of_pod(wanted)));
}

bool names_pid(const ProcessEntry& entry, const Selection& selection) {
  return std::ranges::any_of(selection.pids, [&](std::int64_t pid) {
    return pid == entry.key.pid.value ||
           (entry.facts && entry.facts->namespace_pid != 0 && pid == entry.facts->namespace_pid);
  });
}

bool is_rank(const JobFacts& job, const WantedRank& wanted) {
  if (job.rank != wanted.rank) return false;
  return wanted.world_size == 0 || job.world_size == wanted.world_size;
}

bool is_one_of(int number, const std::vector<int>& numbers) {
  return std::ranges::find(numbers, number) != numbers.end();
}

bool holds_one_of(const ProcessEntry& entry, const std::vector<int>& gpus) {
  return entry.facts &&
         std::ranges::any_of(entry.facts->gpus, [&](int gpu) { return is_one_of(gpu, gpus); });
}

bool is_in_container(const ProcessEntry& entry, std::string_view wanted) {
  return entry.facts && matches_container(entry.facts->container, wanted);
}

bool matches_command(const ProcessEntry& entry, const Family& family, const std::string& part) {
  for (const ProcessEntry* process = &entry; process != nullptr && process->facts;
       process = family.starter(*process)) {
    if (process->facts->command.find(part) != std::string::npos) return true;
    if (!is_multiprocessing(*process->facts)) return false;
  }
  return false;
}

bool matches(const ProcessEntry& entry, const Family& family, const Selection& selection) {
  const JobFacts& job = family.job(entry);
  if (selection.job && !matches_job(entry, job, *selection.job)) return false;
  if (!selection.pids.empty() && !names_pid(entry, selection)) return false;
  const bool is_wanted_rank =
      selection.ranks.empty() || std::ranges::any_of(selection.ranks, [&](const auto& wanted) {
        return is_rank(job, wanted);
      });
  if (!is_wanted_rank) return false;
  if (selection.uid && entry.uid != *selection.uid) return false;
  if (selection.command && !matches_command(entry, family, *selection.command)) return false;
  if (!selection.gpus.empty() && !holds_one_of(entry, selection.gpus)) return false;
  return !selection.container || is_in_container(entry, *selection.container);
}

// Those that the caller may reach, and those of them that the selection means, in the order in
// which they are chosen.
struct Candidates {
  std::vector<const ProcessEntry*> reachable;
  std::vector<const ProcessEntry*> matched;
  Family family;
  Parts parts;
};

Candidates find_candidates(const std::vector<const ProcessEntry*>& entries,
                           const Selection& selection, const Caller& caller) {
  std::vector<const ProcessEntry*> reachable;
  std::ranges::copy_if(entries, std::back_inserter(reachable),
                       [&](const ProcessEntry* entry) { return may_reach(caller, *entry); });
  Candidates candidates{reachable, {}, Family(reachable), {}};
  const Family& family = candidates.family;
  candidates.parts = parts_of(family);
  std::ranges::sort(candidates.reachable, {}, [&](const ProcessEntry* entry) {
    const int rank = family.job(*entry).rank.value_or(std::numeric_limits<int>::max());
    return std::tuple(holds_gpu(*entry) != true, rank, entry->key.pid);
  });
  std::ranges::copy_if(
      candidates.reachable, std::back_inserter(candidates.matched),
      [&](const ProcessEntry* entry) { return matches(*entry, family, selection); });
  return candidates;
}

// What else the selection means, to tell what it can do without.
class Meant {
 public:
  explicit Meant(const Candidates& candidates) : candidates_(candidates) {
    for (const ProcessEntry* entry : candidates.matched) {
      if (candidates.parts.at(entry->key.pid).role != Role::worker) continue;
      const std::size_t group = candidates.family.group(*entry);
      with_workers_.insert(group);
      if (holds_gpu(*entry) == true) with_gpus_.insert(group);
      const auto tenant = tenant_of(*entry);
      if (tenant && candidates.family.job(*entry).local_rank) with_ranks_.insert(*tenant);
    }
  }

  // Why `entry` is left out for the sake of others; "" when it is not.
  [[nodiscard]] std::string reason_to_skip(const ProcessEntry& entry) const {
    const Part& part = candidates_.parts.at(entry.key.pid);
    const std::size_t group = candidates_.family.group(entry);
    const JobFacts& job = candidates_.family.job(entry);
    if (part.role != Role::worker) {
      if (with_workers_.contains(group)) return part.reason;
      // A launcher does not see the variables that it sets for its workers, and an agent of Ray's
      // did not start them: outside a scheduler their job stays unknown.
      const auto tenant = tenant_of(entry);
      const bool replaced = part.role == Role::launcher && job.job.value.empty() && tenant &&
                            with_ranks_.contains(*tenant);
      return replaced ? part.reason : "";
    }
    const bool lacks_gpu = holds_gpu(entry) == false && !job.rank && with_gpus_.contains(group);
    return lacks_gpu ? "holds no GPU, unlike others of its job" : "";
  }

 private:
  const Candidates& candidates_;
  std::set<std::size_t> with_workers_, with_gpus_;  // groups
  std::set<Tenant> with_ranks_;
};

std::string stalled_reason(const ProcessEntry& entry, MonotonicTime now) {
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - entry.last_poll);
  return fmt::format("stalled: last poll {} s ago", age.count());
}

// Drops what would not answer, what others do better, and what is over the limit.
void sort_out(const Candidates& candidates, const Selection& selection, MonotonicTime now,
              Selected& selected) {
  const Meant meant(candidates);
  for (const ProcessEntry* entry : candidates.matched) {
    const Role role = candidates.parts.at(entry->key.pid).role;
    const auto skip = [&](std::string reason) {
      selected.skipped.push_back({entry->key.pid, std::move(reason), role});
    };
    const bool named = names_pid(*entry, selection);
    std::string reason = named ? "" : meant.reason_to_skip(*entry);
    if (!reason.empty()) {
      skip(std::move(reason));
    } else if (!named && state_of(*entry, now) == ProcessState::stalled) {
      skip(stalled_reason(*entry, now));
    } else if (selection.process_limit > 0 && selected.chosen.size() >= selection.process_limit) {
      skip(fmt::format("over the limit of {} processes", selection.process_limit));
    } else {
      selected.chosen.push_back(entry);
    }
  }
}

// With the sizes of the jobs here that have a rank of this number.
std::string no_such_rank(const Candidates& candidates, const WantedRank& wanted) {
  if (wanted.world_size == 0) {
    return fmt::format("rank {}: no process here has it and is what else was asked for",
                       wanted.rank);
  }
  std::set<int> sizes;
  for (const ProcessEntry* entry : candidates.reachable) {
    const JobFacts& job = candidates.family.job(*entry);
    if (job.rank == wanted.rank && job.world_size) sizes.insert(*job.world_size);
  }
  return fmt::format(
      "rank {0}/{1}: no process here is rank {0} of {1} and is what else was asked for{2}",
      wanted.rank, wanted.world_size,
      sizes.empty()
          ? ""
          : fmt::format("; there is a rank {} of {}", wanted.rank, fmt::join(sizes, " and of ")));
}

// Unregistered or another user's: which of the two is nobody's business who may not reach it.
std::vector<std::string> unmatched_names(const Candidates& candidates, const Selection& selection) {
  std::vector<std::string> sentences;
  const auto say_unless = [&](const std::vector<const ProcessEntry*>& among, auto is_it,
                              std::string sentence) {
    const bool found = std::ranges::any_of(among, [&](const auto* entry) { return is_it(*entry); });
    if (!found) sentences.push_back(std::move(sentence));
  };
  for (const std::int64_t pid : selection.pids) {
    Selection one;
    one.pids = {pid};
    say_unless(
        candidates.reachable, [&](const ProcessEntry& entry) { return names_pid(entry, one); },
        fmt::format("pid {}: not registered with the daemon, or not yours", pid));
  }
  if (selection.job) {
    say_unless(
        candidates.reachable,
        [&](const ProcessEntry& entry) {
          return matches_job(entry, candidates.family.job(entry), *selection.job);
        },
        fmt::format("job {}: none of its processes is registered here, or they are not yours",
                    *selection.job));
  }
  for (const WantedRank& wanted : selection.ranks) {
    say_unless(
        candidates.matched,
        [&](const ProcessEntry& entry) { return is_rank(candidates.family.job(entry), wanted); },
        no_such_rank(candidates, wanted));
  }
  for (const int gpu : selection.gpus) {
    say_unless(
        candidates.matched, [&](const ProcessEntry& entry) { return holds_one_of(entry, {gpu}); },
        fmt::format("GPU {}: none of the processes that you may trace has /dev/nvidia{} open", gpu,
                    gpu));
  }
  if (!selection.container) return sentences;
  say_unless(
      candidates.reachable,
      [&](const ProcessEntry& entry) { return is_in_container(entry, *selection.container); },
      fmt::format("container {}: none of the processes that you may trace is in it (give its name, "
                  "its id, or at least {} characters of its id)",
                  clean_text(*selection.container, kMaxShownContainer), kMinContainerPrefix));
  return sentences;
}

// Users and jobs; all processes of one tenant without a job are taken for one.
bool several_owners(const Candidates& candidates, const std::vector<const ProcessEntry*>& chosen) {
  std::map<std::size_t, std::string> jobs;  // of each group, any
  for (const ProcessEntry* entry : candidates.reachable) {
    const std::string& job = candidates.family.job(*entry).job.value;
    if (!job.empty()) jobs.try_emplace(candidates.family.group(*entry), job);
  }
  std::set<std::tuple<Uid, std::string, std::string>> owners;
  for (const ProcessEntry* entry : chosen) {
    std::string job = candidates.family.job(*entry).job.value;
    const auto of_group = jobs.find(candidates.family.group(*entry));
    if (job.empty() && of_group != jobs.end()) job = of_group->second;
    owners.emplace(entry->uid, entry->facts ? entry->facts->container : "", std::move(job));
  }
  return owners.size() > 1;
}

}  // namespace

Selected select_processes(const std::vector<const ProcessEntry*>& entries,
                          const Selection& selection, const Caller& caller, MonotonicTime now) {
  const Candidates candidates = find_candidates(entries, selection, caller);
  Selected selected;
  sort_out(candidates, selection, now, selected);
  selected.unmatched = unmatched_names(candidates, selection);
  selected.ambiguous = caller.host_root && selection.empty() && !selection.all &&
                       several_owners(candidates, selected.chosen);
  return selected;
}

}  // namespace dynolog
