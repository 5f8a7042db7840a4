// The replies of the procs worker's scan and host_look as JSON bodies; both sides take the other's
// for hostile input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "processes/process_signs.h"

namespace dynolog {

inline constexpr std::size_t kMaxScannedInReply = 512;
inline constexpr std::size_t kMaxToolsInReply = 64;

struct ScanReply {
  std::vector<ScannedProcess> processes;
  std::vector<ProfilingTool> tools;
  Pid next;  // go on with the pids below this one; 0: there is nothing left to look at
  std::uint32_t looked_at = 0;
  std::uint32_t refused = 0;  // of these, what may not be read, but for those that were named
};
[[nodiscard]] std::string encode_scan(const Result<ScanReply>& reply);
[[nodiscard]] Result<ScanReply> decode_scan(std::string_view body);
// The bytes that one process takes in a reply.
[[nodiscard]] std::size_t encoded_size(const ScannedProcess& process);

// What can hang when the daemon itself looks at it.
struct HostLook {
  struct Space {
    std::string path;
    std::uint64_t free_bytes = 0;  // for others than root
    std::string id;                // "dev:inode"
    std::string problem;           // not "": could not be measured
  };
  std::vector<Space> spaces;   // of the paths asked for, in their order
  bool nvidia_driver = false;  // is loaded
  std::string nvidia_problem;  // why /dev/nvidiactl cannot be opened, or ""
};
[[nodiscard]] std::string encode_host_look(const Result<HostLook>& look);
[[nodiscard]] Result<HostLook> decode_host_look(std::string_view body);

// An event of the scan: from now on this process is read.
[[nodiscard]] std::string encode_looking(Pid pid);
[[nodiscard]] std::optional<Pid> decode_looking(std::string_view body);

}  // namespace dynolog
