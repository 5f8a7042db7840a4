// Reads what /proc tells about one process. Some of it can block behind a stuck process, so this
// runs in the procs worker only.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/system_root.h"
#include "processes/process_facts.h"
#include "workers/proc_entry.h"
#include "workers/procs_worker.h"

namespace dynolog {

// An error (not_found) when the process is gone or the pid is another's by now. `early` gets the
// facts that cannot block before those that can are read.
[[nodiscard]] Result<ProcessFacts> read_process_facts(
    const SystemRoot& root, const ProcessKey& key,
    const std::function<void(const ProcessFacts&)>& early);

// Whether the target of a descriptor's link is a GPU: /dev/nvidia<N>, /dev/kfd, /dev/dri/renderD*.
[[nodiscard]] bool is_gpu_device(std::string_view target);

[[nodiscard]] Result<SocketHolder> read_holder_facts(const SystemRoot& root, Pid pid);

// The same of a process that is held already.
[[nodiscard]] Result<SocketHolder> read_holder_facts(const SystemRoot& root, const ProcEntry& entry,
                                                     Pid pid);

}  // namespace dynolog
