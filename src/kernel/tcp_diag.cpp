// NETLINK_SOCK_DIAG.
#include "kernel/tcp_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dynolog {
namespace {

constexpr std::size_t kBuffer = 64U << 10U;
constexpr std::uint32_t kAllStates = (1U << kTcpStates.size()) - 1;

// The older form of the question: the newer one has to name a family.
struct Request {
  nlmsghdr header{};
  inet_diag_req body{};
};

std::unexpected<Error> cut_short() {
  return fail(ErrorKind::invalid, "socket diagnosis: an answer is cut short");
}

void add_socket(const inet_diag_msg& message, TcpConnections& into) {
  if (message.idiag_state >= into.by_state.size()) return;
  ++into.by_state[message.idiag_state];
  into.receive_queue_bytes += message.idiag_rqueue;
  into.send_queue_bytes += message.idiag_wqueue;
}

}  // namespace

Result<DiagAnswer> add_tcp_diag(std::span<const std::byte> datagram, TcpConnections& into) {
  while (!datagram.empty()) {
    nlmsghdr header{};
    if (datagram.size() < sizeof header) return cut_short();
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size()) return cut_short();
    const auto body = datagram.subspan(sizeof header, header.nlmsg_len - sizeof header);
    if (header.nlmsg_type == NLMSG_DONE) return DiagAnswer::done;
    if (header.nlmsg_type == NLMSG_ERROR) {
      std::int32_t error = 0;
      if (body.size() < sizeof error) return cut_short();
      std::memcpy(&error, body.data(), sizeof error);
      return fail_errno(error < 0 ? -error : EPROTO, "socket diagnosis");
    }
    if (header.nlmsg_type == TCPDIAG_GETSOCK) {
      inet_diag_msg message{};
      if (body.size() < sizeof message) return cut_short();
      std::memcpy(&message, body.data(), sizeof message);
      add_socket(message, into);
    }
    const std::size_t aligned = NLMSG_ALIGN(std::size_t{header.nlmsg_len});
    datagram = datagram.subspan(std::min(aligned, datagram.size()));
  }
  return DiagAnswer::more;
}

Status TcpDiag::read(TcpConnections& into) {
  into = {};
  if (!socket_.valid()) {
    socket_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!socket_.valid() && (errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT)) {
      return fail(ErrorKind::unavailable, "the kernel, or a sandbox, has no socket diagnosis");
    }
    if (!socket_.valid()) return fail_errno(errno, "socket diagnosis");
    // The kernel answers at once or not at all.
    const timeval limit{.tv_sec = 1, .tv_usec = 0};
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    buffer_.resize(kBuffer);
  }
  Status asked = ask(into);
  if (!asked) socket_.reset();  // what is left of the answer is not to be taken for the next one
  return asked;
}

Status TcpDiag::ask(TcpConnections& into) {
  Request request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = TCPDIAG_GETSOCK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.header.nlmsg_seq = ++sequence_;
  request.body.idiag_states = kAllStates;
  if (::send(socket_.get(), &request, sizeof request, 0) < 0) {
    return fail_errno(errno, "socket diagnosis");
  }
  while (true) {
    const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "socket diagnosis");
    const auto answer = add_tcp_diag(std::span(buffer_).first(static_cast<std::size_t>(got)), into);
    if (!answer) return std::unexpected(answer.error());
    if (*answer == DiagAnswer::done) return {};
  }
}

}  // namespace dynolog
