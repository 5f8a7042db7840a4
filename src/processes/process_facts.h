// What is read about a process after its first poll was answered. Filled by the procs and files
// workers, since reading it can block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "processes/identity.h"
#include "processes/job_facts.h"

namespace dynolog {

inline constexpr std::size_t kMaxHeldGpus = 64;
inline constexpr std::size_t kMaxAncestors = 32;

// From the procs worker, as root where the daemon is root. Strings are already cleaned and bounded.
struct ProcessFacts {
  ProcessKey key;
  Uid uid;
  std::int32_t namespace_pid = 0;  // in its own pid namespace: Kineto puts it into file names
  Pid parent;                      // 0 when not known
  // The parent's parent first, then its parent, without pid 1; at most kMaxAncestors. As they were
  // when this was read: a process whose parent ends gets another.
  std::vector<Pid> ancestors;
  // What the main thread calls itself (comm), "python" or what PyTorch sets: from 2.6 on a data
  // loader's process is "pt_data_worker", and torchrun is "pt_elastic".
  std::string thread_name;
  std::string container;
  std::string command;  // command line in one line, e.g. "python train.py --lr 0.1"
  std::string working_directory;
  JobFacts job;
  bool holds_gpu = false;  // has /dev/nvidia<N>, /dev/kfd or /dev/dri/renderD* open
  // The N of the open /dev/nvidia<N>, ascending, at most kMaxHeldGpus. N is the device's minor
  // number: NVML's "minor number", mostly but not always the index that nvidia-smi prints, and not
  // CUDA's device number where CUDA_VISIBLE_DEVICES is set. A process that only initialised CUDA
  // may hold all that it can see. Empty on AMD, where a render node does not tell the device.
  std::vector<int> gpus;
  std::string torch_library;  // path inside its root of the mapped libtorch_cpu.so, or ""
  // Variables of the process that decide where Kineto writes and what it reads.
  std::string ondemand_trace_dir;    // KINETO_ONDEMAND_TRACE_DIR
  std::string kineto_config;         // KINETO_CONFIG, "" when unset
  std::string ipc_socket_dir;        // KINETO_IPC_SOCKET_DIR
  bool uses_daemon = false;          // KINETO_USE_DAEMON is set
  std::string kineto_init_delay;     // KINETO_DAEMON_INIT_DELAY_S, "" when unset
  std::string cuda_visible_devices;  // CUDA_VISIBLE_DEVICES, "" when unset or empty
  // What was read to its end: where it was not, nothing follows from an absence. `complete` says
  // that all of it was.
  bool descriptors_read = false;
  bool environment_read = false;
  bool mapped_files_read = false;  // up to torch's library, which ends the search
  bool complete = false;
  // Sentences for people on what could not be read, e.g. "environment: Permission denied".
  std::vector<std::string> missing;
};

// What is known of a process after it was read again: `fresh`, unless it was read less far than
// `known` (a process may hang, or its rights may change, while it is read). Then what was known
// stays, but for what always can be read. Of another tenant's process nothing stays.
[[nodiscard]] ProcessFacts renewed(const ProcessFacts& known, ProcessFacts fresh);

// From the files worker, as the process's owner, inside the process's root.
struct TorchFacts {
  std::string version;  // "2.13.0+cpu" from torch/version.py, "" when not readable
  // Configuration keys and variables of Kineto whose names stand in the library.
  bool knows_ondemand_trace_dir = false;  // then output outside /tmp is ignored (2.14 on)
  bool knows_trace_id = false;
  bool knows_memory_snapshot = false;
  bool knows_modules_and_stacks = false;
  bool has_base_configuration = false;  // a non-empty /etc/libkineto.conf or KINETO_CONFIG file
  int poll_interval_s = 0;              // ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS there; 0: not set
};

}  // namespace dynolog
