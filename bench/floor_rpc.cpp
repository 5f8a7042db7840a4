// The floor for the RPC: the least that a server can do. One epoll loop that answers whatever frame
// comes with a constant reply; "getStatus" closes the connection after it, as the protocol wants.
// Prints its port, serves until its standard input is closed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace {

std::string framed(std::string_view json) {
  const auto length = static_cast<std::int32_t>(json.size());
  std::string frame(sizeof length, '\0');
  std::memcpy(frame.data(), &length, sizeof length);
  return frame.append(json);
}

int listen_on_loopback() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 1024) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return -1;
  }
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return listener;
}

void add(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void serve(int connection) {
  static const std::string reply = framed(R"({"status":1})");
  std::array<char, 4096> buffer;
  const auto size = ::recv(connection, buffer.data(), buffer.size(), 0);
  if (size <= 0) {
    ::close(connection);
    return;
  }
  const std::string_view request(buffer.data(), static_cast<std::size_t>(size));
  ::send(connection, reply.data(), reply.size(), MSG_NOSIGNAL);
  if (request.find("getStatus") != std::string_view::npos) ::close(connection);
}

}  // namespace

int main() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const int listener = listen_on_loopback();
  if (listener < 0) return 1;
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  add(epoll, listener);
  add(epoll, STDIN_FILENO);
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == STDIN_FILENO) return 0;
      if (fd != listener) {
        serve(fd);
        continue;
      }
      const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (connection >= 0) add(epoll, connection);
    }
  }
}
