// TCP connections by state: written answers, and the kernel's own.
#include "kernel/tcp_diag.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace dynolog {
namespace {

std::vector<std::byte> message(std::uint16_t type, const void* body, std::size_t size) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + size);
  header.nlmsg_type = type;
  std::vector<std::byte> bytes(NLMSG_ALIGN(sizeof header + size));
  std::memcpy(bytes.data(), &header, sizeof header);
  if (size > 0) std::memcpy(bytes.data() + sizeof header, body, size);
  return bytes;
}

std::vector<std::byte> connection(std::uint8_t state, std::uint32_t queued) {
  inet_diag_msg body{};
  body.idiag_state = state;
  body.idiag_rqueue = queued;
  body.idiag_wqueue = 2 * queued;
  return message(TCPDIAG_GETSOCK, &body, sizeof body);
}

TEST(TcpDiag, CountsAnAnswer) {
  auto answer = connection(1, 100);
  for (const std::uint8_t state : {std::uint8_t{10}, std::uint8_t{1}, std::uint8_t{200}}) {
    const auto more = connection(state, 0);
    answer.insert(answer.end(), more.begin(), more.end());
  }
  TcpConnections connections;
  const auto more = add_tcp_diag(answer, connections);
  ASSERT_TRUE(more);
  EXPECT_EQ(*more, DiagAnswer::more);
  EXPECT_EQ(connections.by_state[1], 2U);
  EXPECT_EQ(connections.by_state[10], 1U);
  EXPECT_EQ(connections.receive_queue_bytes, 100U);
  EXPECT_EQ(connections.send_queue_bytes, 200U);
  EXPECT_EQ(*add_tcp_diag(message(NLMSG_DONE, nullptr, 0), connections), DiagAnswer::done);
}

TEST(TcpDiag, RefusesWhatIsCutShort) {
  const auto whole = connection(1, 0);
  TcpConnections connections;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(add_tcp_diag(std::span(whole).first(size), connections)) << size;
  }
  EXPECT_EQ(connections.by_state[1], 0U);
  EXPECT_FALSE(add_tcp_diag(message(NLMSG_ERROR, nullptr, 0), connections));
  const std::int32_t error = -EACCES;
  const auto denied = add_tcp_diag(message(NLMSG_ERROR, &error, sizeof error), connections);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, ErrorKind::denied);
}

std::uint64_t listening() {
  TcpDiag diag;
  TcpConnections connections;
  for (int i = 0; i < 2; ++i) {
    const Status read = diag.read(connections);
    EXPECT_TRUE(read) << read.error().message;
  }
  return connections.by_state[10];
}

TEST(TcpDiag, FindsListenersOfItsOwn) {
  const UniqueFd four(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(four.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(four.get(), 1), 0);
  const std::uint64_t before = listening();
  EXPECT_GE(before, 1U);
  std::vector<UniqueFd> six;  // more than other processes may close meanwhile
  for (int i = 0; i < 50; ++i) {
    six.emplace_back(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_loopback;
    if (::bind(six.back().get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
      GTEST_SKIP() << "there is no IPv6 here";
    }
    ASSERT_EQ(::listen(six.back().get(), 1), 0);
  }
  EXPECT_GE(listening(), before + 20) << "of IPv6 too";
}

}  // namespace
}  // namespace dynolog
