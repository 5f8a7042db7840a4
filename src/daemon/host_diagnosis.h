// What is wrong with the daemon and its host, from what was read there. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/clock_sync.h"
#include "processes/process_signs.h"
#include "processes/verdict.h"
#include "rpc/protocol/messages.h"
#include "workers/scan_frames.h"

namespace dynolog {

struct HostFacts {
  rpc::StatusReply status;  // features and counters above all
  bool system_mode = false;
  std::optional<std::uint64_t> capabilities;  // effective ones, as bits
  std::optional<int> queue_length;            // net.unix.max_dgram_qlen
  bool may_raise_queue_length = false;
  std::optional<HostLook> look;
  std::string look_problem;  // why there is none
  std::optional<ClockSync> clock;
  std::optional<std::string> base_configuration;  // text of /etc/libkineto.conf
  std::vector<ProfilingTool> tools;               // those that may be named to the asking person
  bool dcgm_runs = false;                         // of root's, whose pid is nobody else's business
  std::size_t hung = 0;                           // processes that could not be read to the end
  std::size_t refused = 0;                        // that the daemon may not look into
  std::string incomplete;                         // why not all processes were looked at
  // Who holds a name that is taken: another user's process is named to root only.
  bool may_name_holder = false;
};

// Checks, in one word each: "daemon", "endpoint", "rpc", "realtime", "feature", "queue",
// "capability", "disk", "clock", "gpu_driver", "base_configuration", "profiler", "processes".
[[nodiscard]] std::vector<Verdict> diagnose_host(const HostFacts& facts);

// CapEff of /proc/<pid>/status.
[[nodiscard]] std::optional<std::uint64_t> effective_capabilities(std::string_view status);

}  // namespace dynolog
