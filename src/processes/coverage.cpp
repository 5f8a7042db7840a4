// Ranks that are here, chosen, missing and elsewhere.
#include "processes/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "processes/family.h"
#include "processes/role.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxRanges = 8;
constexpr std::size_t kMaxJobs = 8;

// One run of a job: a Slurm job may have several steps, and each of them ranks of its own.
using RunKey = std::tuple<Uid, std::string, std::string, std::string>;  // container, job, step

struct Range {
  int first, last;
};

struct Run {
  std::string name;
  std::set<int> here, chosen;
  std::size_t chosen_without_rank = 0;
  int world_size = 0;         // 0: not known
  std::set<int> local_sizes;  // how many there are on this host; 0: one does not say
  std::set<int> firsts;       // the first of a host's ranks, if they stand in a row

  void take(const JobFacts& job) {
    here.insert(*job.rank);
    // A job that was restarted with another size, or a process that says nonsense: the largest, so
    // that nothing is called complete that is not.
    world_size = std::max(world_size, job.world_size.value_or(0));
    local_sizes.insert(job.local_world_size.value_or(0));
    firsts.insert(*job.rank - job.local_rank.value_or(0));
  }
};

std::string list(const std::vector<Range>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!text.empty()) text += ", ";
    if (i == kMaxRanges) return text + "...";
    const Range& range = ranges[i];
    text += range.first == range.last ? fmt::format("{}", range.first)
                                      : fmt::format("{}-{}", range.first, range.last);
  }
  return text;
}

bool is_one(const std::vector<Range>& ranges) {
  return ranges.size() == 1 && ranges.front().first == ranges.front().last;
}

// "rank 3 is", "ranks 3, 5-7 are"
std::string subject(const std::vector<Range>& ranges) {
  return is_one(ranges) ? fmt::format("rank {} is", list(ranges))
                        : fmt::format("ranks {} are", list(ranges));
}

// Those of `within` that are not in `here`.
std::vector<Range> absent(Range within, const std::set<int>& here) {
  std::vector<Range> ranges;
  int next = within.first;
  for (auto rank = here.lower_bound(within.first); rank != here.end() && *rank <= within.last;
       ++rank) {
    if (*rank > next) ranges.push_back({next, *rank - 1});
    next = *rank + 1;
  }
  if (next <= within.last) ranges.push_back({next, within.last});
  return ranges;
}

std::vector<Range> present(const std::set<int>& ranks) {
  std::vector<Range> ranges;
  for (const int rank : ranks) {
    if (!ranges.empty() && ranges.back().last + 1 == rank) {
      ranges.back().last = rank;
    } else {
      ranges.push_back({rank, rank});
    }
  }
  return ranges;
}

// The ranks that should be here, when that is sure: launchers number the ranks of a host in a row,
// and schedulers may deal them out, which two ranks tell.
std::optional<Range> block_here(const Run& run, int local_size) {
  const bool told = run.here.size() > 1 || local_size == run.world_size;
  if (!told || local_size == 0 || run.firsts.size() != 1) return std::nullopt;
  const int first = *run.firsts.begin();
  if (first < 0 || first > run.world_size - local_size) return std::nullopt;
  return Range{first, first + local_size - 1};
}

std::string what_is_absent(const Run& run) {
  const Range all{0, run.world_size - 1};
  const std::vector<Range> ranges = absent(all, run.here);
  if (ranges.empty()) return "";
  const int local_size = run.local_sizes.size() == 1 ? *run.local_sizes.begin() : 0;
  const bool complete = local_size > 0 && run.here.size() >= static_cast<std::size_t>(local_size);
  if (complete) return "; " + subject(ranges) + " not on this host";
  const std::optional<Range> block = block_here(run, local_size);
  if (!block) return "; " + subject(ranges) + " missing or elsewhere";
  std::string text = "; " + subject(absent(*block, run.here)) + " missing";
  std::vector<Range> elsewhere;
  if (block->first > 0) elsewhere.push_back({0, block->first - 1});
  if (block->last < all.last) elsewhere.push_back({block->last + 1, all.last});
  if (!elsewhere.empty()) text += "; " + subject(elsewhere) + " not on this host";
  return text;
}

std::string sentence(const Run& run) {
  if (run.here.empty()) return "";
  std::string text = run.world_size > 0
                         ? fmt::format("{} of {} ranks here", run.here.size(), run.world_size)
                         : fmt::format("{} rank{} here ({})", run.here.size(),
                                       run.here.size() == 1 ? "" : "s", list(present(run.here)));
  if (run.chosen != run.here) text += fmt::format(", {} chosen", run.chosen.size());
  if (run.world_size > 0) {
    text += what_is_absent(run);
  } else {
    text += ", of how many is not known";
  }
  if (run.chosen_without_rank > 0) {
    text += fmt::format("; {} chosen process{} without a known rank", run.chosen_without_rank,
                        run.chosen_without_rank == 1 ? "" : "es");
  }
  return text;
}

RunKey key_of(const ProcessEntry& entry, const JobFacts& job) {
  return {entry.uid, entry.facts->container, job.job.value, job.step};
}

std::string name_of(const JobFacts& job) {
  std::string name = job.scheduler.empty() ? "" : job.scheduler + ":";
  name += job.job.value;
  if (!job.step.empty()) name += "." + job.step;
  return name.empty() ? "no job" : name;
}

std::map<RunKey, Run> runs_of(const std::vector<const ProcessEntry*>& chosen,
                              const std::vector<const ProcessEntry*>& all) {
  const Family family(all);
  const Parts parts = parts_of(family);
  std::map<RunKey, Run> runs;
  for (const ProcessEntry* entry : chosen) {
    if (!entry->facts) continue;
    const JobFacts& job = family.job(*entry);
    Run& run = runs[key_of(*entry, job)];
    run.name = name_of(job);
    if (job.rank) {
      run.chosen.insert(*job.rank);
    } else {
      ++run.chosen_without_rank;
    }
  }
  for (const ProcessEntry* entry : all) {
    if (!entry->facts) continue;
    const JobFacts& job = family.job(*entry);
    const auto run = runs.find(key_of(*entry, job));
    if (run == runs.end() || !job.rank) continue;
    // Children say their parent's rank; a chosen one is one that the user named.
    const bool is_worker = parts.at(entry->key.pid).role == Role::worker;
    if (!is_worker && !run->second.chosen.contains(*job.rank)) continue;
    run->second.take(job);
  }
  return runs;
}

}  // namespace

std::string coverage(const std::vector<const ProcessEntry*>& chosen,
                     const std::vector<const ProcessEntry*>& all) {
  const std::map<RunKey, Run> runs = runs_of(chosen, all);
  if (runs.size() == 1) return sentence(runs.begin()->second);
  std::string text;
  std::size_t told = 0;
  for (const auto& [key, run] : runs) {
    const std::string line = sentence(run);
    if (line.empty()) continue;
    if (!text.empty()) text += " | ";
    if (told++ == kMaxJobs) return text + "...";
    text += run.name + ": " + line;
  }
  return text;
}

}  // namespace dynolog
