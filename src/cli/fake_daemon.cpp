// Plain blocking sockets: the client under test has the deadlines.
#include "cli/fake_daemon.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace dynolog::testing {
namespace {

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

UniqueFd listen_unix(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  must(path.size() < sizeof address.sun_path, "path too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  must(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  must(::listen(fd.get(), 8) == 0, "listen");
  return fd;
}

std::pair<UniqueFd, int> listen_tcp() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  must(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  must(::listen(fd.get(), 8) == 0, "listen");
  must(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  return {std::move(fd), ntohs(address.sin_port)};
}

}  // namespace

std::string FakePeer::request() {
  while (true) {
    auto frame = decoder_.next();
    if (!frame) return "";
    if (frame->has_value()) return std::move(**frame);
    std::array<char, 4096> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return "";
    decoder_.append({buffer.data(), static_cast<std::size_t>(got)});
  }
}

void FakePeer::reply(std::string_view payload) { raw(encode_frame(payload)); }

void FakePeer::raw(std::string_view bytes) {
  (void)!::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void FakePeer::until_closed() {
  std::array<char, 4096> buffer;
  while (::recv(fd_.get(), buffer.data(), buffer.size(), 0) > 0) {
  }
}

FakeDaemon::FakeDaemon(const std::string& unix_path, std::vector<Script> scripts) {
  if (unix_path.empty()) {
    auto [fd, port] = listen_tcp();
    listener_ = std::move(fd);
    port_ = port;
  } else {
    listener_ = listen_unix(unix_path);
  }
  acceptor_ = std::jthread(
      [this, scripts = std::move(scripts)]() mutable { accept_all(std::move(scripts)); });
}

void FakeDaemon::accept_all(std::vector<Script> scripts) {
  std::size_t next = 0;
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return;
    if (next >= scripts.size()) continue;
    peers_.emplace_back([script = std::move(scripts[next++]),
                         peer = FakePeer(std::move(fd))]() mutable { script(peer); });
  }
}

FakeDaemon::~FakeDaemon() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
}

}  // namespace dynolog::testing
