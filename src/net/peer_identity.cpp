// SO_PEERCRED with a pidfd, and NETLINK_SOCK_DIAG's exact lookup.
#include "net/peer_identity.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

#ifndef SO_PEERPIDFD
constexpr int SO_PEERPIDFD = 77;
#endif
constexpr unsigned long kPidfdGetUserNamespace = _IO(0xff, 9);  // Linux 6.11

constexpr std::uint8_t kEstablished = TCP_ESTABLISHED;
constexpr std::uint8_t kFinWait1 = TCP_FIN_WAIT1;
constexpr std::uint8_t kFinWait2 = TCP_FIN_WAIT2;

constexpr std::size_t kMaxStat = 4096;
constexpr std::size_t kStartTimeAfterName = 20;  // field 22, counted from the state, which is 3

std::unexpected<Error> ended_peer() {
  return fail(ErrorKind::denied, "the calling process has ended, so nobody can say who it was");
}

// When the process started, rounded down to a clock tick; nullopt when it is not there.
std::optional<Nanoseconds> start_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", kMaxStat);
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(')');  // names may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = split(trim(std::string_view(*text).substr(name_end + 1)), ' ');
  if (fields.size() < kStartTimeAfterName) return std::nullopt;
  const auto ticks = parse_number<std::int64_t>(fields[kStartTimeAfterName - 1]);
  if (!ticks) return std::nullopt;
  return Nanoseconds(std::chrono::seconds(1)) / ::sysconf(_SC_CLK_TCK) * *ticks;
}

// Whoever has the pid now, unless it cannot have been there when the connection was accepted.
Result<UniqueFd> pin_by_start_time(pid_t pid, Nanoseconds accepted) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    if (errno == ESRCH) return ended_peer();
    return fail_errno(errno, "pinning the caller's process");
  }
  const auto started = start_of(pid);
  // What was read is of this process only if it still lives, which unix_peer() looks at next.
  if (!started || *started > accepted) return ended_peer();
  return pidfd;
}

Result<UniqueFd> peer_pidfd(int socket, pid_t pid, const UnixPinning& pinning) {
  if (!pinning.by_kernel) return pin_by_start_time(pid, pinning.accepted);
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) return UniqueFd(pidfd);
  if (errno == ENOPROTOOPT) return pin_by_start_time(pid, pinning.accepted);  // before Linux 6.5
  if (errno == EMFILE || errno == ENFILE) return fail_errno(errno, "pinning the caller's process");
  return ended_peer();
}

// One end of a TCP connection, with v4-mapped addresses unmapped.
struct Endpoint {
  int family = AF_UNSPEC;
  std::array<std::uint32_t, 4> address{};  // network order; only the first for AF_INET
  std::uint16_t port = 0;                  // network order

  [[nodiscard]] bool loopback() const {
    if (family == AF_INET) return (ntohl(address[0]) >> 24U) == 127;
    return family == AF_INET6 && address == std::array<std::uint32_t, 4>{0, 0, 0, htonl(1)};
  }
};

Endpoint to_endpoint(const sockaddr_storage& storage) {
  Endpoint end;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    end.family = AF_INET;
    end.address[0] = v4.sin_addr.s_addr;
    end.port = v4.sin_port;
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    std::memcpy(end.address.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    end.port = v6.sin6_port;
    end.family = AF_INET6;
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      end.family = AF_INET;
      end.address = {end.address[3], 0, 0, 0};
    }
  }
  return end;
}

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

DiagRequest make_request(const Endpoint& peer, const Endpoint& ours) {
  DiagRequest request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = 1;
  request.body.sdiag_family = static_cast<std::uint8_t>(peer.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = peer.port;
  id.idiag_dport = ours.port;
  std::copy(peer.address.begin(), peer.address.end(), id.idiag_src);
  std::copy(ours.address.begin(), ours.address.end(), id.idiag_dst);
  id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

std::unexpected<Error> closed_peer() {
  return fail(ErrorKind::denied,
              "the caller has closed its connection, so nobody can say who it was");
}

// The kernel's answer to one exact request; bounds-checked although it is the kernel's.
Result<inet_diag_msg> parse_answer(std::string_view bytes, const DiagRequest& request) {
  nlmsghdr header{};
  if (bytes.size() < sizeof header) return fail(ErrorKind::failed, "a short answer of sock_diag");
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view body = bytes.substr(sizeof header);
  if (header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error{};
    if (body.size() < sizeof error) return fail(ErrorKind::failed, "a short error of sock_diag");
    std::memcpy(&error, body.data(), sizeof error);
    if (error.error == -ENOENT) return closed_peer();  // reset
    return fail(ErrorKind::unavailable, "sock_diag, which tells whose connection this is: " +
                                            std::generic_category().message(-error.error));
  }
  inet_diag_msg answer{};
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || body.size() < sizeof answer) {
    return fail(ErrorKind::failed, "an unknown answer of sock_diag");
  }
  std::memcpy(&answer, body.data(), sizeof answer);
  // Without a connected socket the lookup falls back to a listener on the same port.
  if (answer.id.idiag_sport != request.body.id.idiag_sport ||
      answer.id.idiag_dport != request.body.id.idiag_dport) {
    return closed_peer();
  }
  return answer;
}

Result<inet_diag_msg> ask_kernel(const DiagRequest& request) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink.valid()) return fail_errno(errno, "opening sock_diag");
  if (::send(netlink.get(), &request, sizeof request, 0) != sizeof request) {
    return fail_errno(errno, "asking sock_diag");
  }
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  // The kernel answers within send(), so nothing is waited for.
  const auto size = ::recv(netlink.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0) return fail_errno(errno, "reading from sock_diag");
  return parse_answer({buffer.data(), static_cast<std::size_t>(size)}, request);
}

// A user namespace.
bool is_ours_or_the_first(const struct stat& status) {
  constexpr ino_t kFirstUserNamespace = 0xEFFFFFFD;  // PROC_USER_INIT_INO
  struct stat ours{};
  if (status.st_ino == kFirstUserNamespace) return true;
  return ::stat("/proc/self/ns/user", &ours) == 0 && ours.st_ino == status.st_ino &&
         ours.st_dev == status.st_dev;
}

// False also when that cannot be told.
bool is_ours_or_the_first(int user_namespace) {
  struct stat status{};
  return ::fstat(user_namespace, &status) == 0 && is_ours_or_the_first(status);
}

}  // namespace

Result<UnixPeer> unix_peer(int socket, const UnixPinning& pinning) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return fail_errno(errno, "asking for the caller's credentials");
  }
  if (credentials.pid <= 0) {
    return fail(ErrorKind::denied, "the caller is in a pid namespace that this daemon cannot see");
  }
  if (Uid{credentials.uid} == kOverflowUid || credentials.uid == static_cast<uid_t>(-1)) {
    return fail(ErrorKind::denied,
                "the caller's user has no mapping here (uid 65534 stands for many users)");
  }
  auto pidfd = peer_pidfd(socket, credentials.pid, pinning);
  if (!pidfd) return std::unexpected(pidfd.error());
  pollfd poll{.fd = pidfd->get(), .events = POLLIN, .revents = 0};
  if (::poll(&poll, 1, 0) != 0) return ended_peer();
  return UnixPeer{Uid{credentials.uid}, Pid{credentials.pid}, std::move(*pidfd)};
}

Nanoseconds since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

std::optional<Uid> accountable_uid(Pid pid, Uid uid, int pidfd) {
  // Nearly all are in ours, and hundreds may call in at once: one cheap question then.
  UniqueFd inside(pidfd < 0 ? -1 : ::ioctl(pidfd, kPidfdGetUserNamespace, 0));
  if (!inside.valid()) {
    if (pidfd >= 0 && errno == ESRCH) return std::nullopt;
    const std::string path = "/proc/" + std::to_string(pid.value) + "/ns/user";
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && is_ours_or_the_first(status)) return uid;
    inside.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (!inside.valid()) {
    return errno == ENOENT || errno == ESRCH ? std::nullopt : std::optional(uid);
  }
  uid_t owner = uid.value;
  // The outermost below ours: of one within it, a subordinate uid may be the owner. There are at
  // most 33 levels, and above ours the kernel shows none.
  while (inside.valid() && !is_ours_or_the_first(inside.get())) {
    if (::ioctl(inside.get(), NS_GET_OWNER_UID, &owner) != 0) return uid;
    inside.reset(::ioctl(inside.get(), NS_GET_PARENT));
  }
  if (Uid{owner} == kOverflowUid) return uid;  // a user of a namespace around ours
  if (Uid{owner} == kRootUid && uid != kRootUid) return std::nullopt;
  return Uid{owner};
}

Result<TcpPeer> loopback_tcp_peer(int socket) {
  sockaddr_storage peer_address{};
  sockaddr_storage our_address{};
  socklen_t size = sizeof peer_address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer_address), &size) != 0) {
    return closed_peer();
  }
  size = sizeof our_address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&our_address), &size) != 0) {
    return closed_peer();
  }
  const Endpoint peer = to_endpoint(peer_address);
  const Endpoint ours = to_endpoint(our_address);
  if (!peer.loopback() || !ours.loopback() || peer.family != ours.family) {
    return fail(ErrorKind::unavailable, "the caller does not come over loopback");
  }
  const DiagRequest request = make_request(peer, ours);
  const auto answer = ask_kernel(request);
  if (!answer) return std::unexpected(answer.error());
  // FIN_WAIT1: the peer has shut its writing side and our acknowledgement is on its way. A socket
  // that its process has closed has no inode, in whatever state it is.
  const bool open = answer->idiag_state == kEstablished || answer->idiag_state == kFinWait1 ||
                    answer->idiag_state == kFinWait2;
  if (!open || answer->idiag_inode == 0) return closed_peer();
  return TcpPeer{Uid{answer->idiag_uid}, answer->idiag_inode};
}

}  // namespace dynolog
