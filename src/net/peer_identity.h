// Who is at the other end of a socket, as the kernel says it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/unique_fd.h"

namespace dynolog {

// The peer of a unix stream socket, from SO_PEERCRED, pinned by a pidfd. The uid is that of
// connect().
struct UnixPeer {
  Uid uid;
  Pid pid;
  UniqueFd pidfd;
};
struct UnixPinning {
  Nanoseconds accepted{};  // since_boot() when the connection was accepted
  // SO_PEERPIDFD. Off: what is done anyway before Linux 6.5, where it is missing. There the pid is
  // pinned afterwards, and a process that started after the connection was accepted is not the peer
  // but one that got its pid.
  bool by_kernel = true;
};
// An error of kind denied when the peer is dead, cannot be pinned, or is the overflow uid.
[[nodiscard]] Result<UnixPeer> unix_peer(int socket, const UnixPinning& pinning);

// CLOCK_BOOTTIME, which processes' start times count in.
[[nodiscard]] Nanoseconds since_boot();

// Whom a limit counts: the process's uid, or, inside user namespaces of somebody's own, the user
// who made the outermost of them. Subordinate uids would escape every limit otherwise. nullopt when
// nobody can be named: the process has ended, or root made the namespace for uids that are no
// user's. `uid` where the kernel does not let this daemon look. The process is the one that `pidfd`
// pins; -1: whoever has the pid, as it is anyway before Linux 6.11.
[[nodiscard]] std::optional<Uid> accountable_uid(Pid pid, Uid uid, int pidfd);

// What NETLINK_SOCK_DIAG says of the *peer's* socket of a loopback TCP connection. Counts only with
// inode > 0 in state ESTABLISHED, FIN_WAIT1 or FIN_WAIT2: a socket that its process has closed is
// reported as uid 0, inode 0. The uid is the creator's and can be forged in a container; who holds
// the inode decides (`workers`, procs: holders_of_socket).
struct TcpPeer {
  Uid uid;
  std::uint32_t inode = 0;
  auto operator<=>(const TcpPeer&) const = default;
};
// Exact lookup with the socket's own addresses reversed; a v4-mapped v6 address is looked up as
// AF_INET. Errors: unavailable (not loopback, netlink missing), denied (closed or reset peer).
[[nodiscard]] Result<TcpPeer> loopback_tcp_peer(int socket);

}  // namespace dynolog
