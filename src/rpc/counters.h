// What the RPC server counts.
#pragma once

#include <cstdint>

namespace dynolog::rpc {

struct ServerCounters {
  std::uint64_t connections = 0;  // gauge
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;      // answered with an error
  std::uint64_t malformed = 0;   // bad length, bad JSON
  std::uint64_t http = 0;        // HTTP spoken to it
  std::uint64_t timed_out = 0;   // request not complete in time, or idle
  std::uint64_t over_limit = 0;  // closed because of a limit on connections
  std::uint64_t not_identified = 0;
  std::uint64_t reply_unread = 0;  // who asked was gone, or went without reading the reply
};

}  // namespace dynolog::rpc
