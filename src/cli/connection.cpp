// Non-blocking sockets and poll(2): every wait ends at its deadline.
#include "cli/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "net/framing.h"

namespace dynolog {
namespace {

int milliseconds_until(std::optional<MonotonicTime> deadline, const Clock& clock) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<Milliseconds>(*deadline - clock.monotonic()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
}

// True when `fd` can be written to; false at the deadline, or when interrupted.
bool wait_writable(int fd, int interrupt_fd, const Clock& clock, MonotonicTime deadline) {
  while (true) {
    std::array<pollfd, 2> waiting{pollfd{fd, POLLOUT, 0}, pollfd{interrupt_fd, POLLIN, 0}};
    const int timeout = milliseconds_until(deadline, clock);
    const int ready = ::poll(waiting.data(), waiting.size(), timeout);
    if (ready > 0) return waiting[0].revents != 0;
    if (ready == 0 && clock.monotonic() >= deadline) return false;
  }
}

Result<UniqueFd> connect_to(const sockaddr* address, socklen_t length, const Clock& clock,
                            MonotonicTime deadline, int interrupt_fd) {
  UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fail_errno(errno, "socket");
  int error = ::connect(fd.get(), address, length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    if (!wait_writable(fd.get(), interrupt_fd, clock, deadline)) {
      return fail(ErrorKind::timed_out, "no answer to the connection");
    }
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return fail(ErrorKind::unavailable, std::generic_category().message(error));
  return fd;
}

Result<UniqueFd> connect_unix(const std::string& path, const Clock& clock, MonotonicTime deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorKind::invalid, "this path is too long for a socket (107 bytes)");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  // Blocking with a send timeout: a full backlog gives a non-blocking socket EAGAIN and no event.
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail_errno(errno, "socket");
  const int left = std::max(1, milliseconds_until(deadline, clock));
  const timeval timeout{left / 1000, (left % 1000) * 1000L};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN)
      return fail(ErrorKind::timed_out, "the daemon does not accept connections");
    return fail(ErrorKind::unavailable, std::generic_category().message(errno));
  }
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

// A name service may hang: it is asked in glibc's own thread, and left behind at the deadline.
struct Lookup {
  std::string host;
  std::string service;
  addrinfo hints{};
  gaicb request{};
  ~Lookup() {
    if (request.ar_result != nullptr) ::freeaddrinfo(request.ar_result);
  }
};

Result<std::unique_ptr<Lookup>> look_up(const std::string& host, int port, const Clock& clock,
                                        MonotonicTime deadline) {
  auto lookup = std::make_unique<Lookup>();
  lookup->host = host;
  lookup->service = std::to_string(port);
  lookup->hints.ai_socktype = SOCK_STREAM;
  lookup->hints.ai_flags = AI_NUMERICSERV;
  lookup->request.ar_name = lookup->host.c_str();
  lookup->request.ar_service = lookup->service.c_str();
  lookup->request.ar_request = &lookup->hints;
  // An address needs no name service, and no thread.
  addrinfo numeric = lookup->hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  if (::getaddrinfo(lookup->host.c_str(), lookup->service.c_str(), &numeric,
                    &lookup->request.ar_result) == 0) {
    return lookup;
  }
  gaicb* list[] = {&lookup->request};
  int error = ::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr);
  while (error == 0 && (error = ::gai_error(&lookup->request)) == EAI_INPROGRESS) {
    const int left = milliseconds_until(deadline, clock);
    if (left == 0) break;
    const timespec wait{left / 1000, (left % 1000) * 1'000'000L};
    (void)::gai_suspend(list, 1, &wait);
    error = 0;
  }
  if (error == EAI_INPROGRESS) {
    // Still in glibc's hands when it cannot be cancelled: then it must stay where it is.
    if (::gai_cancel(&lookup->request) == EAI_NOTCANCELED) (void)lookup.release();
    return fail(ErrorKind::timed_out, "the name service does not answer");
  }
  if (error != 0) {
    return fail(ErrorKind::unavailable, fmt::format("{}: {}", host, ::gai_strerror(error)));
  }
  return lookup;
}

Result<UniqueFd> connect_tcp(const std::string& host, int port, const Clock& clock,
                             MonotonicTime deadline, int interrupt_fd) {
  const auto lookup = look_up(host, port, clock, deadline);
  if (!lookup) return std::unexpected(lookup.error());
  std::vector<const addrinfo*> addresses;
  for (const addrinfo* at = (*lookup)->request.ar_result; at != nullptr; at = at->ai_next) {
    addresses.push_back(at);
  }
  Error last{ErrorKind::unavailable, host + ": no address"};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // An address that swallows packets leaves time for the others.
    const MonotonicTime now = clock.monotonic();
    const auto share = (deadline - now) / static_cast<long>(addresses.size() - i);
    auto fd = connect_to(addresses[i]->ai_addr, addresses[i]->ai_addrlen, clock, now + share,
                         interrupt_fd);
    if (fd) return fd;
    last = std::move(fd.error());
    if (interrupt_fd >= 0 && wait_interruptibly(interrupt_fd, clock, now)) break;
  }
  return std::unexpected(std::move(last));
}

class SocketConnection final : public Connection {
 public:
  SocketConnection(UniqueFd fd, const Clock& clock) : fd_(std::move(fd)), clock_(clock) {}

  Status send(std::string_view payload, MonotonicTime deadline) override {
    const std::string frame = encode_frame(payload);
    std::string_view left = frame;
    while (!left.empty()) {
      const ssize_t sent = ::send(fd_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        left.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        if (!wait_writable(fd_.get(), -1, clock_, deadline)) {
          return fail(ErrorKind::timed_out, "the daemon does not read");
        }
      } else if (errno == EPIPE || errno == ECONNRESET) {
        return {};
      } else if (errno != EINTR) {
        return fail_errno(errno, "sending");
      }
    }
    return {};
  }

  Received receive(std::optional<MonotonicTime> deadline, int interrupt_fd) override {
    const std::array own{fd_.get()};
    while (true) {
      Received received = next_frame();
      if (received.what != Received::What::nothing) return received;
      switch (wait_for_any(own, interrupt_fd, clock_, deadline)) {
        case Waited::interrupted:
          return {Received::What::interrupted, ""};
        case Waited::late:
          return {Received::What::late, ""};
        case Waited::readable:
          break;
      }
      if (!read_some()) return {Received::What::closed, ""};
    }
  }

  Received try_receive() override {
    Received received = next_frame();
    if (received.what != Received::What::nothing) return received;
    return read_some() ? next_frame() : Received{Received::What::closed, ""};
  }

  int fd() const override { return fd_.get(); }

 private:
  Received next_frame() {
    auto frame = decoder_.next();
    if (!frame) return {Received::What::garbled, frame.error().message};
    if (!frame->has_value()) return {Received::What::nothing, ""};
    return {Received::What::frame, std::move(**frame)};
  }

  // False at the end.
  bool read_some() {
    std::array<char, 64U << 10U> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) decoder_.append({buffer.data(), static_cast<std::size_t>(got)});
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }

  UniqueFd fd_;
  const Clock& clock_;
  FrameDecoder decoder_{kMaxReplyBytes};
};

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Endpoint& endpoint, const Clock& clock,
                                                     MonotonicTime deadline, int interrupt_fd) {
  auto fd = endpoint.is_tcp()
                ? connect_tcp(endpoint.host, endpoint.port, clock, deadline, interrupt_fd)
                : connect_unix(endpoint.unix_path, clock, deadline);
  if (!fd) return std::unexpected(std::move(fd.error()));
  return std::make_unique<SocketConnection>(std::move(*fd), clock);
}

Waited wait_for_any(std::span<const int> fds, int interrupt_fd, const Clock& clock,
                    std::optional<MonotonicTime> deadline) {
  std::vector<pollfd> waiting{{interrupt_fd, POLLIN, 0}};
  for (const int fd : fds) waiting.push_back({fd, POLLIN, 0});
  while (true) {
    const int ready = ::poll(waiting.data(), waiting.size(), milliseconds_until(deadline, clock));
    if (ready > 0 && (waiting[0].revents & POLLIN) != 0) return Waited::interrupted;
    // Before what is readable: a peer that sends byte by byte does not move the deadline.
    if (deadline && clock.monotonic() >= *deadline) return Waited::late;
    if (ready > 0) return Waited::readable;
  }
}

bool wait_interruptibly(int interrupt_fd, const Clock& clock, MonotonicTime deadline) {
  return wait_for_any({}, interrupt_fd, clock, deadline) == Waited::interrupted;
}

}  // namespace dynolog
