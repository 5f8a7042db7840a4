// Binding, and telling a stale socket from a live daemon's.
#include "rpc/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <system_error>

namespace dynolog::rpc {
namespace {

constexpr int kBacklog = 1024;

std::string reason(int error_number) { return std::generic_category().message(error_number); }

UniqueFd stream_socket(int family) {
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool kernel_refuses_descriptors(int socket) {
#ifndef SO_PASSRIGHTS
  constexpr int SO_PASSRIGHTS = 83;
#endif
  // A lingering socket sent along would block the reader when it is closed (Linux 6.16 and newer
  // know the option; accepted sockets inherit it).
  const int off = 0;
  return ::setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off) == 0;
}

// Who answers at `address`: a pid (0 when not visible), or nullopt when nobody does.
std::optional<pid_t> live_daemon(const sockaddr_un& address) {
  const UniqueFd probe = stream_socket(AF_UNIX);
  const int result =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (result != 0 && errno == ECONNREFUSED) return std::nullopt;
  ucred holder{};
  socklen_t size = sizeof holder;
  if (result != 0 || ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &holder, &size) != 0) {
    return 0;
  }
  return holder.pid;
}

// "" when the path is free now, else what is in the way.
std::string clear_stale(const sockaddr_un& address) {
  const char* path = address.sun_path;
  struct stat status{};
  if (::lstat(path, &status) != 0) return errno == ENOENT ? "" : reason(errno);
  if (!S_ISSOCK(status.st_mode)) return "there is a file at this path that is no socket";
  if (const auto pid = live_daemon(address)) {
    return *pid > 0 ? fmt::format("a daemon with pid {} is listening there", *pid)
                    : "another process is listening there";
  }
  if (::unlink(path) != 0 && errno != ENOENT) return "its stale socket: " + reason(errno);
  return "";
}

std::string bind_unix(int socket, const sockaddr_un& address) {
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket, generic, sizeof address) != 0) {
    if (errno != EADDRINUSE) return reason(errno);
    if (std::string in_the_way = clear_stale(address); !in_the_way.empty()) return in_the_way;
    if (::bind(socket, generic, sizeof address) != 0) return reason(errno);
  }
  // Everybody may connect: who it is, the kernel says. (The umask cut fchmod's bits at bind.)
  if (::chmod(address.sun_path, 0666) != 0) return reason(errno);
  if (::listen(socket, kBacklog) != 0) return reason(errno);
  return "";
}

struct TcpAddress {
  std::string text;
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool loopback = false;
  bool any = false;
};

std::optional<TcpAddress> parse_address(const std::string& text) {
  TcpAddress address{.text = text};
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.size = sizeof v4;
    address.loopback = (ntohl(v4.sin_addr.s_addr) >> 24U) == 127;
    address.any = v4.sin_addr.s_addr == htonl(INADDR_ANY);
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size = sizeof v6;
    address.loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    address.any = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
    return address;
  }
  return std::nullopt;
}

void set_port(TcpAddress& address, int port) {
  // The port lies at the same place in both families.
  sockaddr_in view{};
  std::memcpy(&view, &address.storage, sizeof view);
  view.sin_port = htons(static_cast<std::uint16_t>(port));
  std::memcpy(&address.storage, &view, sizeof view);
}

int bound_port(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size);
  sockaddr_in view{};
  std::memcpy(&view, &storage, sizeof view);
  return ntohs(view.sin_port);
}

// 0 or an errno.
int bind_tcp(int socket, const TcpAddress& address) {
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // inherited when accepting
  if (address.storage.ss_family == AF_INET6) {
    // "::" takes both families; ::1 leaves 127.0.0.1 to its own socket.
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, address.any ? &off : &on, sizeof on);
  }
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0 &&
      ::listen(socket, kBacklog) == 0) {
    return 0;
  }
  return errno;
}

std::string tcp_problem(int error_number, int port) {
  if (error_number != EADDRINUSE) return reason(error_number);
  return fmt::format("port {} is taken by another process (`ss -ltnp sport = :{}` shows which)",
                     port, port);
}

// nullopt when this host has no IPv6 and the address is of it.
std::optional<Listener> listen_at(TcpAddress address, int port) {
  set_port(address, port);
  Listener listener{.tcp = true};
  const bool v6 = address.storage.ss_family == AF_INET6;
  UniqueFd socket = stream_socket(address.storage.ss_family);
  const int error = socket.valid() ? bind_tcp(socket.get(), address) : errno;
  if (v6 && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)) return std::nullopt;
  if (error != 0) listener.problem = tcp_problem(error, port);
  if (listener.problem.empty()) {
    listener.port = bound_port(socket.get());
    listener.socket = std::move(socket);
  }
  listener.name = fmt::format("tcp:{}:{}", v6 ? "[" + address.text + "]" : address.text,
                              listener.port > 0 ? listener.port : port);
  return listener;
}

// Which addresses to take. Beside one that is reached from elsewhere the loopbacks are ours too:
// otherwise any local user could take them and answer clients of this host.
std::vector<std::string> addresses(const ServerOptions& options, const TcpAddress* chosen) {
  if (chosen == nullptr) return {"127.0.0.1", "::1"};
  if (chosen->loopback || options.tcp_address == "::") return {options.tcp_address};
  if (chosen->any) return {options.tcp_address, "::1"};
  return {options.tcp_address, "127.0.0.1", "::1"};
}

}  // namespace

Listener listen_unix(const std::string& path, bool refuse_descriptors) {
  Listener listener{.name = "unix:" + path};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    listener.problem = fmt::format("the path is longer than {} bytes; choose a shorter --run_dir",
                                   sizeof address.sun_path - 1);
    return listener;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket = stream_socket(AF_UNIX);
  listener.descriptors_refused = refuse_descriptors && kernel_refuses_descriptors(socket.get());
  listener.problem = socket.valid() ? bind_unix(socket.get(), address) : reason(errno);
  if (listener.problem.empty()) listener.socket = std::move(socket);
  return listener;
}

std::vector<Listener> listen_tcp(const ServerOptions& options) {
  std::optional<TcpAddress> chosen;
  if (!options.tcp_address.empty()) {
    chosen = parse_address(options.tcp_address);
    Listener refused{.name = fmt::format("tcp:{}:{}", options.tcp_address, options.tcp_port),
                     .tcp = true};
    if (!chosen) {
      refused.problem = "this is not an IP address";
    } else if (!chosen->loopback && options.auth != RpcAuth::none) {
      refused.problem =
          "listening beyond loopback is refused as long as callers from there cannot be known; "
          "--rpc_auth=none allows it, for calls that need no identity";
    }
    if (!refused.problem.empty()) {
      std::vector<Listener> result;
      result.push_back(std::move(refused));
      return result;
    }
  }
  std::vector<Listener> result;
  int port = options.tcp_port;
  for (const std::string& text : addresses(options, chosen ? &*chosen : nullptr)) {
    auto address = parse_address(text);
    if (!address) continue;
    auto listener = listen_at(std::move(*address), port);
    if (!listener) continue;
    if (listener->socket.valid()) port = listener->port;  // 0: the others take the same
    result.push_back(std::move(*listener));
  }
  return result;
}

Transport transport_of(const sockaddr_storage& tcp_peer) {
  if (tcp_peer.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &tcp_peer, sizeof v4);
    return (ntohl(v4.sin_addr.s_addr) >> 24U) == 127 ? Transport::loopback_tcp
                                                     : Transport::remote_tcp;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &tcp_peer, sizeof v6);
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == 127;
  return mapped || IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ? Transport::loopback_tcp
                                                       : Transport::remote_tcp;
}

}  // namespace dynolog::rpc
