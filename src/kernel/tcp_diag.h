// TCP connections by state, asked of the kernel's socket diagnosis (NETLINK_SOCK_DIAG). It costs
// some 1 us for each connection, several times less than /proc/net/tcp; and a millisecond or more
// besides, however few there are: the kernel goes through its whole table of sockets, which grows
// with the host's memory. One question is of IPv4 and IPv6 together, so that it does so once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// By the kernel's numbers of states; 0 is none.
inline constexpr std::array<std::string_view, 13> kTcpStates = {
    "",      "established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2",   "time_wait",
    "close", "close_wait",  "last_ack", "listen",   "closing",   "new_syn_recv"};

struct TcpConnections {
  std::array<std::uint64_t, kTcpStates.size()> by_state{};
  std::uint64_t receive_queue_bytes = 0;
  std::uint64_t send_queue_bytes = 0;
};

enum class DiagAnswer { more, done };
// Adds one datagram of the kernel's answer. An error when it is cut short or is an error itself.
[[nodiscard]] Result<DiagAnswer> add_tcp_diag(std::span<const std::byte> datagram,
                                              TcpConnections& into);

// The socket and the buffer are kept: the steady state allocates nothing. Not for several threads.
class TcpDiag {
 public:
  // Of the network namespace of this process, IPv4 and IPv6.
  [[nodiscard]] Status read(TcpConnections& into);

 private:
  Status ask(TcpConnections& into);

  UniqueFd socket_;
  std::vector<std::byte> buffer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace dynolog
