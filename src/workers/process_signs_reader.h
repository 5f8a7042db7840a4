// Reads the signs by which it is told why a process cannot be traced. In the procs worker only:
// `maps` and `environ` can block behind a stuck process.
#pragma once

#include <string>

#include "base/system_root.h"
#include "processes/process_signs.h"
#include "workers/proc_entry.h"

namespace dynolog {

// What one pass over /proc/<pid>/maps tells.
struct MappedFiles {
  std::string torch_address;  // "" when neither libtorch_cpu.so nor libtorch_python.so is mapped
  bool gpu_torch = false;
  std::string profiler_library;
  bool refused = false;  // the kernel does not let us read them: nothing of the above is known
};

// Nothing of a process that may not be read.
[[nodiscard]] MappedFiles read_mapped_files(const ProcEntry& entry);
[[nodiscard]] ProcessSigns read_process_signs(const SystemRoot& root, const ProcEntry& entry,
                                              const MappedFiles& mapped);

}  // namespace dynolog
