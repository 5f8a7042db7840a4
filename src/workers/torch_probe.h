// Which PyTorch a process has loaded and what its Kineto knows: read from files, as the process's
// owner, inside the process's root.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "processes/process_facts.h"

namespace dynolog {

// `library` is the path of libtorch_cpu.so, `kineto_config` the process's KINETO_CONFIG or "".
[[nodiscard]] Result<TorchFacts> probe_torch(int root, const std::string& library,
                                             const std::string& kineto_config);

// "dev:inode:mtime:size" of the library: equal for equal files, so that a probe can be kept.
[[nodiscard]] Result<std::string> torch_library_id(int root, const std::string& library);

// "2.13.0+cpu" out of torch/version.py's text; "" when it is not there.
[[nodiscard]] std::string torch_version_in(std::string_view version_py);

// ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS in a base configuration's text; 0 when not set or no
// number.
[[nodiscard]] int poll_interval_in(std::string_view kineto_config);

}  // namespace dynolog
