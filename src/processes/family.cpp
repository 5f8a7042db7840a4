// Parents, first ranks and groups of registered processes.
#include "processes/family.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace dynolog {
namespace {

using Age = std::pair<std::uint64_t, Pid>;

Age age_of(const ProcessEntry& entry) { return {entry.key.start_ticks, entry.key.pid}; }

using ByPid = std::unordered_map<Pid, const ProcessEntry*>;

// A pid may have been used again since the ancestors were read: a starter is older.
const ProcessEntry* starter_of(const ProcessEntry& entry, const ByPid& by_pid) {
  const std::optional<Tenant> tenant = tenant_of(entry);
  if (!tenant) return nullptr;
  const auto fits = [&](Pid pid) -> const ProcessEntry* {
    const auto found = by_pid.find(pid);
    if (found == by_pid.end() || age_of(*found->second) >= age_of(entry)) return nullptr;
    return tenant_of(*found->second) == tenant ? found->second : nullptr;
  };
  if (const ProcessEntry* parent = fits(entry.facts->parent)) return parent;
  for (const Pid pid : entry.facts->ancestors) {
    if (const ProcessEntry* ancestor = fits(pid)) return ancestor;
  }
  return nullptr;
}

// A rank that a launcher or an engine's title told, without a doubt a process of its own.
bool has_sure_rank(const JobFacts& job) {
  return job.launched || job.rank_source == RankSource::title;
}

bool is_first(const JobFacts& job) { return job.launched ? job.local_rank == 0 : job.rank == 0; }

// The ranks that one process started itself. What multiprocessing started counts only where nothing
// else is a rank: Lightning's first process passes the rank that it gives itself to its data
// loaders.
struct StartedRanks {
  bool multiprocessing = false;
  bool first = false, later = false;
  bool one_job = true;
  const JobFacts* any = nullptr;

  void add(const JobFacts& job, bool is_multiprocessing) {
    if (any != nullptr && is_multiprocessing && !multiprocessing) return;
    if (any == nullptr || is_multiprocessing != multiprocessing) {
      *this = {.multiprocessing = is_multiprocessing, .any = &job};
    }
    (is_first(job) ? first : later) = true;
    one_job = one_job && job.job == any->job;
  }
};

// The first of the ranks of which `later` is one.
JobFacts first_rank(const JobFacts& later) {
  JobFacts first = later;
  // Where the numbers are the same for one, they are for the first.
  const bool same = later.rank && later.rank == later.local_rank;
  first.rank = same ? std::optional(0) : std::nullopt;
  if (!same) first.world_size.reset();
  first.local_rank = 0;
  return first;
}

// Union-find over places in a list.
std::size_t root_of(std::vector<std::size_t>& above, std::size_t place) {
  while (above[place] != place) {
    above[place] = above[above[place]];
    place = above[place];
  }
  return place;
}

}  // namespace

Family::Family(const std::vector<const ProcessEntry*>& entries) : entries_(entries) {
  std::ranges::sort(entries_, {}, [](const ProcessEntry* entry) { return age_of(*entry); });
  find_starters();
  find_first_ranks();
  join_groups();
}

void Family::find_starters() {
  ByPid by_pid;
  for (const ProcessEntry* entry : entries_) by_pid.emplace(entry->key.pid, entry);
  for (const ProcessEntry* entry : entries_) {
    if (const ProcessEntry* starter = starter_of(*entry, by_pid)) starters_[entry] = starter;
  }
}

void Family::find_first_ranks() {
  std::unordered_map<const ProcessEntry*, StartedRanks> started;
  for (const ProcessEntry* entry : entries_) {
    const ProcessEntry* starter = this->starter(*entry);
    if (starter == nullptr || has_sure_rank(starter->facts->job)) continue;
    if (!has_sure_rank(entry->facts->job)) continue;
    started[starter].add(entry->facts->job, is_multiprocessing(*entry->facts));
  }
  for (const auto& [starter, ranks] : started) {
    const JobFacts& own = starter->facts->job;
    // A script that gives itself rank 0 passes it to its data loaders.
    if (ranks.first && (ranks.later || !ranks.multiprocessing)) {
      for (const ProcessEntry* above = starter;
           above != nullptr && !has_sure_rank(above->facts->job); above = this->starter(*above)) {
        rank_starters_.insert(above);
      }
    } else if (!ranks.first && !ranks.multiprocessing && !own.launcher && !own.rank &&
               ranks.one_job && ranks.any->launched &&
               (own.job.value.empty() || own.job == ranks.any->job)) {
      inferred_[starter] = first_rank(*ranks.any);
    }
  }
}

void Family::join_groups() {
  std::vector<std::size_t> above(entries_.size());
  std::iota(above.begin(), above.end(), std::size_t{0});
  std::unordered_map<const ProcessEntry*, std::size_t> places;
  std::map<std::tuple<Uid, std::string, std::string>, std::size_t> jobs;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const ProcessEntry& entry = *entries_[i];
    places[&entry] = i;
    if (const ProcessEntry* starter = this->starter(entry)) {
      above[root_of(above, i)] = root_of(above, places.at(starter));
    }
    const std::string& name = job(entry).job.value;
    if (name.empty()) continue;
    const auto first = jobs.try_emplace({entry.uid, entry.facts->container, name}, i).first;
    above[root_of(above, i)] = root_of(above, first->second);
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) groups_[entries_[i]] = root_of(above, i);
}

const ProcessEntry* Family::starter(const ProcessEntry& entry) const {
  const auto found = starters_.find(&entry);
  return found == starters_.end() ? nullptr : found->second;
}

const JobFacts& Family::job(const ProcessEntry& entry) const {
  static const JobFacts kNothing;
  const auto found = inferred_.find(&entry);
  if (found != inferred_.end()) return found->second;
  return entry.facts ? entry.facts->job : kNothing;
}

bool Family::starts_ranks(const ProcessEntry& entry) const {
  return rank_starters_.contains(&entry);
}

std::size_t Family::group(const ProcessEntry& entry) const { return groups_.at(&entry); }

bool is_named_data_loader(const ProcessFacts& facts) {
  return facts.thread_name == "pt_data_worker";
}

bool is_multiprocessing(const ProcessFacts& facts) {
  constexpr std::array<std::string_view, 3> kStarts = {
      ".spawn import spawn_main", ".forkserver import main", "loky.backend.popen_loky"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) {
    return facts.command.find(start) != std::string::npos;
  });
}

std::optional<bool> holds_gpu(const ProcessEntry& entry) {
  if (!entry.facts) return std::nullopt;
  if (entry.facts->holds_gpu) return true;
  return entry.facts->descriptors_read ? std::optional(false) : std::nullopt;
}

}  // namespace dynolog
