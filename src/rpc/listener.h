// Listening sockets of the RPC: bound, or degraded with a sentence on who is in the way.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "rpc/authorise.h"
#include "rpc/options.h"

namespace dynolog::rpc {

struct Listener {
  std::string name{};  // "unix:/run/dynolog/dynolog.sock", "tcp:127.0.0.1:1778"
  bool tcp = false;
  UniqueFd socket{};      // not valid: degraded
  std::string problem{};  // then why
  int port = 0;
  bool descriptors_refused = false;  // by the kernel, on a unix socket and those accepted from it
};

// A stale socket (nobody answers there) is replaced; anything else in the way is left alone.
// `refuse_descriptors`: tells the kernel to, where it can.
[[nodiscard]] Listener listen_unix(const std::string& path, bool refuse_descriptors);

// Both loopbacks, or the address of the options with them; an address that this host's kernel does
// not have for lack of IPv6 is passed over.
[[nodiscard]] std::vector<Listener> listen_tcp(const ServerOptions& options);

// Where an accepted TCP connection comes from.
[[nodiscard]] Transport transport_of(const sockaddr_storage& tcp_peer);

}  // namespace dynolog::rpc
