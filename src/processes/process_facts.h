// What is read about a process after its first poll was answered. Filled by the procs and files
// workers, since reading it can block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "processes/identity.h"
#include "processes/job_facts.h"

namespace dynolog {

// From the procs worker, as root where the daemon is root. Strings are already cleaned and bounded.
struct ProcessFacts {
  ProcessKey key;
  Uid uid;
  std::int32_t namespace_pid = 0;  // in its own pid namespace: Kineto puts it into file names
  std::string container;
  std::string command;  // command line in one line, e.g. "python train.py --lr 0.1"
  std::string working_directory;
  JobFacts job;
  bool holds_gpu = false;     // has /dev/nvidia<N>, /dev/kfd or /dev/dri/renderD* open
  std::string torch_library;  // path inside its root of the mapped libtorch_cpu.so, or ""
  // Variables of the process that decide where Kineto writes and what it reads.
  std::string ondemand_trace_dir;  // KINETO_ONDEMAND_TRACE_DIR
  std::string kineto_config;       // KINETO_CONFIG, "" when unset
  std::string ipc_socket_dir;      // KINETO_IPC_SOCKET_DIR
  bool uses_daemon = false;        // KINETO_USE_DAEMON is set
  // Sentences on what could not be read, e.g. "environment: Permission denied".
  std::vector<std::string> missing;
};

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
