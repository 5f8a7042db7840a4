// The procs worker's requests and replies as JSON bodies. Both sides decode the other's as hostile
// input: a body that does not fit is an error (invalid), never an exception or a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "workers/procs_worker.h"

namespace dynolog {

inline constexpr std::size_t kMaxSocketHolders = 256;
inline constexpr std::size_t kMaxNamedPids = 512;
inline constexpr std::size_t kMaxLookedAtPaths = 64;

struct ProcsRequest {
  enum class Verb { facts, socket_holders, holder_facts, scan, host_look };
  Verb verb = Verb::facts;
  ProcessKey key;              // facts; holder_facts: the pid; scan: only pids below it, 0: all
  std::uint32_t inode = 0;     // socket_holders
  Uid uid;                     // socket_holders: the socket's; scan: whose processes
  bool of_everybody = false;   // scan: whoever's
  std::vector<Pid> pids = {};  // scan: only these, whatever they are
  std::vector<std::string> paths = {};  // host_look: the room there
};
[[nodiscard]] std::string encode(const ProcsRequest& request);
[[nodiscard]] Result<ProcsRequest> decode_procs_request(std::string_view body);

// The replies of scan and host_look are in scan_frames.h. A reply is its value or an error;
// decoding gives the worker's error as the error.
[[nodiscard]] std::string encode_facts(const Result<ProcessFacts>& facts);
[[nodiscard]] Result<ProcessFacts> decode_facts(std::string_view body);
[[nodiscard]] std::string encode_holders(const Result<std::vector<SocketHolder>>& holders);
[[nodiscard]] Result<std::vector<SocketHolder>> decode_holders(std::string_view body);

}  // namespace dynolog
