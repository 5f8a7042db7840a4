// Who holds a socket: looked for among the descriptors of every process, within a budget, since
// anybody may open as many as he likes. In the procs worker only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/system_root.h"
#include "workers/procs_worker.h"

namespace dynolog {

// Well under the time after which the daemon gives the worker up.
struct SearchBudget {
  Nanoseconds time = std::chrono::seconds(1);
  std::size_t descriptors = 1'000'000;
  std::size_t first_look = 4096;  // of one process in the first round; few programs have more
};

// The processes that hold the socket, which is `uid`'s, of those whose descriptors this process may
// look at (all, as root). The search ends early
// - at a holder of another user or container than the others, the last in the answer: that settles
//   that nobody can be told to be the caller;
// - when the budget is spent. An error then (exhausted), unless the socket is not root's and a
//   holder was found: see holder_search.cpp.
[[nodiscard]] Result<std::vector<SocketHolder>> find_socket_holders(const SystemRoot& root,
                                                                    const Clock& clock,
                                                                    std::uint32_t inode, Uid uid,
                                                                    SearchBudget budget);

}  // namespace dynolog
