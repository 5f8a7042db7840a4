// What is read about a process, beyond its facts, to say why it cannot be traced. Filled by the
// procs worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "processes/process_facts.h"

namespace dynolog {

// Strings are already cleaned and bounded.
struct ProcessSigns {
  char state = '?';  // as /proc/<pid>/stat has it: 'T' stopped, 't' held by a debugger, 'Z' ended
  bool frozen = false;            // by the freezer of its cgroup
  std::string network_namespace;  // "net:[4026531840]", "" when it may not be read
  std::string executable;         // path as we see it, or ""
  // Where libtorch begins in its memory, in hexadecimal. A process that was forked has its parent's
  // layout, one that was executed one of its own.
  std::string torch_address;
  bool maps_gpu_torch = false;    // libtorch_cuda.so or libtorch_hip.so: not a CPU-only build
  std::string profiler_library;   // name of a mapped library of another profiler, or ""
  std::string profiler_variable;  // name of a variable that has another profiler loaded, or ""
  // 0: nothing is left of it. A process that sets its own title may write over its environment.
  std::size_t environment_variables = 0;
  std::optional<std::string> use_daemon;      // KINETO_USE_DAEMON
  std::optional<std::string> log_level;       // KINETO_LOG_LEVEL
  std::optional<std::string> teardown_cupti;  // TEARDOWN_CUPTI
};

struct ScannedProcess {
  ProcessFacts facts;
  ProcessSigns signs;
};

// A running program that takes the GPU's profiling hardware or another profiler's place.
struct ProfilingTool {
  Pid pid;
  Uid uid;
  std::string name;  // "nsys", "ncu", "nv-hostengine", ...
};

}  // namespace dynolog
