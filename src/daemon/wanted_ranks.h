// The ranks of a request, as the selection of processes takes them.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.h"
#include "processes/selection.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

// An error (invalid) where the two lists do not belong together.
[[nodiscard]] inline Result<std::vector<WantedRank>> wanted_ranks(const rpc::SelectionSpec& spec) {
  if (spec.rank_worlds && spec.rank_worlds->size() != spec.ranks.size()) {
    return fail(ErrorKind::invalid, "\"rank_worlds\" must have a number for each of \"ranks\"");
  }
  std::vector<WantedRank> wanted;
  for (std::size_t i = 0; i < spec.ranks.size(); ++i) {
    wanted.push_back({spec.ranks[i], spec.rank_worlds ? (*spec.rank_worlds)[i] : 0});
  }
  return wanted;
}

}  // namespace dynolog
