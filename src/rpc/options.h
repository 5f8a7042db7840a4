// Options of the RPC server.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dynolog::rpc {

enum class RpcAuth { loopback_only, none };  // munge and tls come with a later issue

// What can change while it serves.
struct ServerLimits {
  bool loopback_identity = true;  // existing clients on this host are known by their socket
  bool loopback_root = true;      // uid 0 over loopback TCP may be root of the host
  std::size_t max_connections = 1024;
  std::size_t max_connections_per_uid = 128;
  std::chrono::milliseconds idle_time{300000};
};

struct ServerOptions : ServerLimits {
  std::string unix_path;    // "": no unix socket
  int tcp_port = 1778;      // -1: no TCP; 0: any free port (tests)
  std::string tcp_address;  // "": both loopbacks; else an address to listen on
  RpcAuth auth = RpcAuth::loopback_only;
  std::chrono::milliseconds request_time{10000};
  // Off: the ways for older kernels (before Linux 6.5 and 6.16) are taken also on newer ones.
  bool pin_by_kernel = true;
  bool refuse_descriptors = true;
};

}  // namespace dynolog::rpc
