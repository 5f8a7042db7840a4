// Messages to real sockets: that are there, that come later, that stall, that go and come back.
#include "net/stream_sender.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "testing/patience.h"

namespace dynolog {
namespace {

class Receiver {
 public:
  // IPv4 or IPv6 loopback, or a unix socket.
  explicit Receiver(int family, std::string path = "") : path_(std::move(path)) {
    listening_.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    be_patient(listening_.get());
    sockaddr_storage address{};
    socklen_t size = fill(family, address);
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listening_.get(), 4), 0);
    size = sizeof address;
    ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                     : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  }

  [[nodiscard]] int port() const { return port_; }
  void accept() {
    peer_.reset(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(peer_.valid()) << "nobody came";
    be_patient(peer_.get());
  }
  std::string line() {
    std::string line;
    char letter = 0;
    while (::recv(peer_.get(), &letter, 1, 0) == 1 && letter != '\n') line += letter;
    return line;
  }
  void hang_up() { peer_.reset(); }
  void close() {
    peer_.reset();
    listening_.reset();
  }

 private:
  socklen_t fill(int family, sockaddr_storage& storage) const {
    if (family == AF_INET) {
      auto& address = reinterpret_cast<sockaddr_in&>(storage);
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      return sizeof address;
    }
    if (family == AF_INET6) {
      auto& address = reinterpret_cast<sockaddr_in6&>(storage);
      address.sin6_family = AF_INET6;
      address.sin6_addr = in6addr_loopback;
      return sizeof address;
    }
    auto& address = reinterpret_cast<sockaddr_un&>(storage);
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (path_.front() == '@') address.sun_path[0] = '\0';
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  }

  std::string path_;
  UniqueFd listening_;
  UniqueFd peer_;
  int port_ = 0;
};

class StreamSenderTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<StreamSender> start(Destination to, std::size_t bytes = 1 << 20) {
    return StreamSender::start({.to = std::move(to),
                                .executable = DYNOLOG_TEST_CHILD,
                                .max_queued_bytes = bytes,
                                .first_pause = std::chrono::milliseconds(1),
                                .last_pause = std::chrono::milliseconds(10)},
                               *log_);
  }

  std::unique_ptr<Log> log_ = make_silent_log();
};

TEST_F(StreamSenderTest, OverIPv4AndNames) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    Receiver receiver(AF_INET);
    const auto sender = start({.host = host, .port = receiver.port()});
    receiver.accept();
    sender->put("one\n");
    sender->put("two\n");
    EXPECT_EQ(receiver.line(), "one");
    EXPECT_EQ(receiver.line(), "two");
    EXPECT_EQ(sender->counters().failures, 0U);
    EXPECT_FALSE(sender->problem());
  }
}

TEST_F(StreamSenderTest, OverIPv6) {
  Receiver receiver(AF_INET6);
  const auto sender = start({.host = "::1", .port = receiver.port()});
  receiver.accept();
  sender->put("one\n");
  EXPECT_EQ(receiver.line(), "one");
}

TEST_F(StreamSenderTest, OverUnixSockets) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("dynolog-s-" + std::to_string(::getpid())))
          .string();
  for (const std::string& name : {path, "@" + path}) {
    Receiver receiver(AF_UNIX, name);
    const auto sender = start({.unix_path = name});
    receiver.accept();
    sender->put("one\n");
    EXPECT_EQ(receiver.line(), "one");
  }
  std::filesystem::remove(path);
}

TEST_F(StreamSenderTest, ComesBackToAReaderThatWent) {
  Receiver receiver(AF_INET);
  const auto sender = start({.host = "127.0.0.1", .port = receiver.port()});
  receiver.accept();
  sender->put("one\n");
  EXPECT_EQ(receiver.line(), "one");
  receiver.hang_up();
  receiver.accept();
  sender->put("two\n");
  EXPECT_EQ(receiver.line(), "two");
  EXPECT_GE(sender->counters().failures, 1U);
}

TEST_F(StreamSenderTest, WaitsForAReaderThatIsNotThereAndDropsTheOldest) {
  Receiver receiver(AF_INET);
  const int port = receiver.port();
  receiver.close();
  const auto sender = start({.host = "127.0.0.1", .port = port}, 30);
  std::optional<Error> problem;
  while (!problem) problem = sender->problem();
  EXPECT_NE(problem->message.find("Connection refused"), std::string::npos) << problem->message;
  EXPECT_NE(problem->message.find(std::to_string(port)), std::string::npos) << problem->message;
  for (int i = 0; i < 10; ++i) sender->put("line " + std::to_string(i) + "..\n");
  EXPECT_EQ(sender->counters().queued, 3U);
  EXPECT_EQ(sender->counters().dropped, 7U);
}

TEST_F(StreamSenderTest, AReaderThatStallsHurtsNobodyAndGetsWholeMessages) {
  Receiver receiver(AF_INET);
  auto sender = start({.host = "127.0.0.1", .port = receiver.port()}, 100'000);
  receiver.accept();
  const std::string message(9'999, 'x');
  for (int i = 0; i < 2'000; ++i) sender->put(message + "\n");
  while (sender->counters().dropped == 0) {
  }
  EXPECT_LE(sender->counters().queued, 10U);
  sender.reset();  // hangs, and the test times out, if it waited for the reader
  EXPECT_EQ(receiver.line(), message);
}

TEST_F(StreamSenderTest, AtItsEndItWritesWhatIsTakenAtOnce) {
  Receiver receiver(AF_INET);
  auto sender = start({.host = "127.0.0.1", .port = receiver.port()});
  receiver.accept();
  sender->put("one\n");
  EXPECT_EQ(receiver.line(), "one");
  for (int i = 0; i < 100; ++i) sender->put("last " + std::to_string(i) + "\n");
  sender.reset();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(receiver.line(), "last " + std::to_string(i));
}

}  // namespace
}  // namespace dynolog
