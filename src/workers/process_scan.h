// Looks through the processes of the host for those that look like PyTorch or hold a GPU. In the
// procs worker only: what it reads can block behind a stuck process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "base/clock.h"
#include "base/system_root.h"
#include "workers/procs_frames.h"
#include "workers/scan_frames.h"

namespace dynolog {

// Of one answer. The time is well under that after which the daemon gives the worker up.
struct ScanBudget {
  Nanoseconds time = Milliseconds(300);
  std::size_t bytes = 64U << 10U;
};

// Goes through the pids below `request.key` from the largest down, as far as the budget goes:
// processes of the user asked for that map libtorch or hold /dev/nvidia<N>, /dev/kfd or
// /dev/dri/renderD*; with `request.pids` these only, whatever they are. Known profiling tools are
// named whoever's they are. `looking` is told of each process before anything of it is read that
// can block.
[[nodiscard]] Result<ScanReply> scan_processes(const SystemRoot& root, const Clock& clock,
                                               const ProcsRequest& request, ScanBudget budget,
                                               const std::function<void(Pid)>& looking);

// What can hang when the daemon itself looks: the room at some paths, the NVIDIA driver's device.
[[nodiscard]] HostLook look_at_host(const SystemRoot& root, const ProcsRequest& request);

}  // namespace dynolog
