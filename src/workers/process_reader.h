// Reads what /proc tells about one process. Some of it can block behind a stuck process, so this
// runs in the procs worker only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/system_root.h"
#include "processes/process_facts.h"
#include "workers/procs_worker.h"

namespace dynolog {

// An error (not_found) when the process is gone or the pid is another's by now. `early` gets the
// facts that cannot block before those that can are read.
[[nodiscard]] Result<ProcessFacts> read_process_facts(
    const SystemRoot& root, const ProcessKey& key,
    const std::function<void(const ProcessFacts&)>& early);

[[nodiscard]] Result<SocketHolder> read_holder_facts(const SystemRoot& root, Pid pid);

// Every process that holds the socket, of those whose descriptors this process may look at (all, as
// root). An error (exhausted) when there are too many.
[[nodiscard]] Result<std::vector<SocketHolder>> find_socket_holders(const SystemRoot& root,
                                                                    std::uint32_t inode);

}  // namespace dynolog
