// Names, addresses and deadlines, with a real child that resolves.
#include "net/connector.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "net/host_resolver.h"
#include "testing/patience.h"

namespace dynolog {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class ConnectorTest : public testing::Test {
 protected:
  ConnectorTest() {
    listening_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_.get(), 4), 0);
    socklen_t size = sizeof address;
    ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }

  Result<UniqueFd> connect(const Destination& to, const std::string& executable,
                           std::chrono::milliseconds patience = kPatience) {
    const auto connector = Connector::make(loop_, *log_, executable);
    std::optional<Result<UniqueFd>> outcome;
    connector->connect(to, patience, [&](Result<UniqueFd> result) {
      outcome = std::move(result);
      loop_.stop();
    });
    EXPECT_FALSE(outcome) << "called back before the call returned";
    loop_.run();
    if (!outcome) return fail(ErrorKind::failed, "not called back");
    return std::move(*outcome);
  }

  EventLoop loop_;
  std::unique_ptr<Log> log_ = make_silent_log();
  UniqueFd listening_;
  int port_ = 0;
  LoopGuard guard_{loop_};
};

TEST_F(ConnectorTest, TriesTheAddressesOfAName) {
  EXPECT_TRUE(connect({.host = "127.0.0.1", .port = port_}, "/nonexistent"));
  EXPECT_TRUE(connect({.host = "localhost", .port = port_}, "/nonexistent"));
  // A name that only the system's resolver knows to be loopback.
  const auto resolved = connect({.host = "ip6-localhost", .port = port_}, DYNOLOG_TEST_CHILD);
  if (!resolved) {
    EXPECT_THAT(resolved.error().message,
                testing::AnyOf(HasSubstr("Connection refused"), HasSubstr("looking up")));
  }
}

TEST_F(ConnectorTest, ANameThatIsNone) {
  const auto failed = connect({.host = "no-such-host.invalid", .port = port_}, DYNOLOG_TEST_CHILD);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("looking up no-such-host.invalid: "));
}

TEST_F(ConnectorTest, AResolverThatEndsOrHangsIsGivenUp) {
  const auto ended = connect({.host = "name.invalid", .port = port_}, "/bin/false");
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, StartsWith("looking up name.invalid: "));

  std::string script = (std::filesystem::temp_directory_path() / "dynolog-hangs-XXXXXX").string();
  const UniqueFd made(::mkstemp(script.data()));
  ASSERT_TRUE(replace_file(script, "#!/bin/sh\nexec sleep 60\n", 0700));
  const auto hung = connect({.host = "name.invalid", .port = port_}, script, 100ms);
  std::filesystem::remove(script);
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().kind, ErrorKind::timed_out);
  EXPECT_THAT(hung.error().message, HasSubstr("the name servers do not answer in time"));
}

TEST_F(ConnectorTest, WhatRefuses) {
  listening_.reset();
  const auto failed = connect({.host = "127.0.0.1", .port = port_}, "/nonexistent");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "connecting to 127.0.0.1:" + std::to_string(port_) + ": Connection refused");
  const auto neither = connect({.host = "localhost", .port = port_}, "/nonexistent");
  ASSERT_FALSE(neither);
  EXPECT_THAT(neither.error().message, HasSubstr("connecting to localhost:"));
  const auto none = connect({.unix_path = "/nonexistent/socket"}, "/nonexistent");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("/nonexistent/socket"));
}

TEST_F(ConnectorTest, WhatDoesNotAnswerIsGivenUp) {
  // A full backlog answers no further connection.
  const UniqueFd full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(full.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  socklen_t size = sizeof address;
  ::getsockname(full.get(), reinterpret_cast<sockaddr*>(&address), &size);
  std::vector<UniqueFd> waiting;
  std::optional<Error> error;
  while (!error && waiting.size() < 8) {
    auto connected = connect({.host = "127.0.0.1", .port = ntohs(address.sin_port)}, "", 200ms);
    if (connected)
      waiting.push_back(std::move(*connected));
    else
      error = connected.error();
  }
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("timed out"));
}

TEST_F(ConnectorTest, NobodyIsCalledBackAfterItsEnd) {
  auto connector = Connector::make(loop_, *log_, "");
  connector->connect({.host = "127.0.0.1", .port = port_}, kPatience,
                     [](const Result<UniqueFd>&) { FAIL() << "called back"; });
  connector.reset();
  loop_.post([this] { loop_.stop(); });
  loop_.run();
}

TEST(HostResolver, AnswersAreForeignBytes) {
  EXPECT_THAT(*decode_resolved("127.0.0.1\n::1\n"), ElementsAre("127.0.0.1", "::1"));
  EXPECT_FALSE(decode_resolved(""));
  EXPECT_FALSE(decode_resolved("127.0.0.1\nnode7\n"));
  EXPECT_EQ(decode_resolved("!no\x1b such host").error().message, "no\xEF\xBF\xBD such host");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "10.0.0.1\n";
  EXPECT_EQ(decode_resolved(many)->size(), kMaxHostAddresses);
}

}  // namespace
}  // namespace dynolog
