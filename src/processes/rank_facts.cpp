// From the process table to labels.
#include "processes/rank_facts.h"

#include <algorithm>

#include "base/number.h"
#include "processes/role.h"

namespace dynolog {
namespace {

std::string text_of(const std::optional<int>& number) {
  return number ? std::to_string(*number) : std::string();
}

std::string gpus_of(const ProcessFacts& facts) {
  const auto visible = parse_number<int>(facts.cuda_visible_devices);
  if (visible && std::ranges::find(facts.gpus, *visible) != facts.gpus.end()) {
    return std::to_string(*visible);
  }
  std::string list;
  for (const int gpu : facts.gpus) list += (list.empty() ? "" : ",") + std::to_string(gpu);
  return list;
}

}  // namespace

std::vector<RankFacts> ranks_of(const std::vector<const ProcessEntry*>& entries) {
  const Parts parts = parts_of(entries);
  std::vector<RankFacts> ranks;
  for (const ProcessEntry* entry : entries) {
    const auto part = parts.find(entry->key.pid);
    const bool works = part == parts.end() || part->second.role == Role::worker;
    if (!works || !entry->facts || entry->facts->job.launcher || ranks.size() == kMaxRanks)
      continue;
    const JobFacts& job = entry->facts->job;
    ranks.push_back({.key = entry->key,
                     .uid = entry->uid,
                     .job = job.job.value,
                     .allocation = job.allocation,
                     .scheduler = job.scheduler,
                     .step = job.step,
                     .rank = text_of(job.rank),
                     .local_rank = text_of(job.local_rank),
                     .world_size = text_of(job.world_size),
                     .gpu = gpus_of(*entry->facts),
                     .user = {}});
  }
  return ranks;
}

}  // namespace dynolog
