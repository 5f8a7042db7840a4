// The ranks of this host: which process is which rank of which job. What metrics say of jobs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "processes/identity.h"
#include "processes/process_table.h"

namespace dynolog {

inline constexpr std::size_t kMaxRanks = 256;

// Text as labels have it; "" for what is not known.
struct RankFacts {
  ProcessKey key;
  Uid uid;
  std::string job;         // as users know it: "36199_0" of an array
  std::string allocation;  // Slurm's own number, where it is another
  std::string scheduler;
  std::string step;
  std::string rank;
  std::string local_rank;
  std::string world_size;
  // Minor numbers of the devices that it holds, "3" or "0,1": the one that CUDA_VISIBLE_DEVICES
  // names alone, where it holds that among others.
  std::string gpu;
  std::string user;  // where it is asked for
  bool operator==(const RankFacts&) const = default;
};

// The workers among `entries`, which should be all of the table; by pid, at most kMaxRanks.
[[nodiscard]] std::vector<RankFacts> ranks_of(const std::vector<const ProcessEntry*>& entries);

}  // namespace dynolog
