// The HTTP client against a server of raw bytes: good ones, bad ones, and one that hangs up.
#include "net/http_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/number.h"
#include "base/unique_fd.h"
#include "testing/patience.h"

namespace dynolog {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Answers each request with the next of its texts, on one connection until it is told to hang up.
// An empty text is silence, until the client gives up.
class RawServer {
 public:
  static constexpr std::string_view kHangUp = "<hang up>";
  static constexpr std::string_view kReadAndHangUp = "<read and hang up>";

  explicit RawServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listening_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    be_patient(listening_.get());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_.get(), 4), 0);
    socklen_t size = sizeof address;
    ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }

  void join() { thread_.join(); }

  int port = 0;
  std::vector<std::string> requests;  // after join()
  int connections = 0;

 private:
  void serve() {
    UniqueFd peer;
    for (const std::string& answer : answers_) {
      if (answer == kHangUp) {
        peer.reset();
        continue;
      }
      if (!peer.valid()) {
        peer.reset(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        be_patient(peer.get());
        ++connections;
      }
      requests.push_back(request(peer.get()));
      if (answer.empty()) request(peer.get());
      if (answer == kReadAndHangUp) {
        peer.reset();
        continue;
      }
      ::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  static std::string request(int fd) {
    std::string text;
    std::size_t wanted = std::string::npos;
    char piece[4096];
    while (text.size() < wanted) {
      const ssize_t size = ::recv(fd, piece, sizeof piece, 0);
      if (size <= 0) return text + "<end>";
      text.append(piece, static_cast<std::size_t>(size));
      const std::size_t end = text.find("\r\n\r\n");
      const std::size_t length = text.find("Content-Length: ");
      if (end == std::string::npos || length == std::string::npos) continue;
      const std::string_view number = std::string_view(text).substr(length + 16);
      wanted = end + 4 + parse_number<std::size_t>(number.substr(0, number.find('\r'))).value_or(0);
    }
    return text;
  }

  std::vector<std::string> answers_;
  UniqueFd listening_;
  std::jthread thread_;
};

class HttpClientTest : public testing::Test {
 protected:
  void use(int port, bool tls = false) {
    auto client = HttpClient::make(
        loop_, *log_, {.to = {.host = "127.0.0.1", .port = port}, .executable = "", .tls = tls});
    ASSERT_TRUE(client);
    client_ = std::move(*client);
  }

  Result<HttpReply> post(const std::string& body, std::chrono::milliseconds patience = kPatience) {
    std::optional<Result<HttpReply>> outcome;
    client_->post({.target = "/v1/metrics",
                   .fields = {{"X-Key", "secret"}},
                   .body = std::make_shared<const std::string>(body)},
                  patience, [&](Result<HttpReply> reply) {
                    outcome = std::move(reply);
                    loop_.stop();
                  });
    EXPECT_FALSE(outcome) << "called back before the call returned";
    loop_.run();
    if (!outcome) return fail(ErrorKind::failed, "not called back");
    return std::move(*outcome);
  }

  EventLoop loop_;
  std::unique_ptr<Log> log_ = make_silent_log();
  std::unique_ptr<HttpClient> client_;
  LoopGuard guard_{loop_};
};

constexpr const char* kOk =
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 2\r\n\r\nhi";

TEST_F(HttpClientTest, PostsAndKeepsTheConnection) {
  RawServer server({kOk, kOk});
  use(server.port);
  for (const char* body : {"one", "two"}) {
    const auto reply = post(body);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, 200U);
    EXPECT_EQ(reply->content_type, "application/x-protobuf");
    EXPECT_EQ(reply->body, "hi");
  }
  server.join();
  EXPECT_EQ(server.connections, 1);
  EXPECT_THAT(server.requests[0], StartsWith("POST /v1/metrics HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(server.requests[0], HasSubstr("\r\nX-Key: secret\r\n"));
  EXPECT_THAT(server.requests[0], EndsWith("\r\nContent-Length: 3\r\n\r\none"));
  EXPECT_THAT(server.requests[1], EndsWith("two"));
}

TEST_F(HttpClientTest, ComesBackOnAConnectionThatWasClosed) {
  RawServer server({kOk, std::string(RawServer::kHangUp), kOk});
  use(server.port);
  ASSERT_TRUE(post("one"));
  const auto reply = post("two");
  ASSERT_TRUE(reply) << reply.error().message;
  server.join();
  EXPECT_EQ(server.connections, 2);
}

TEST_F(HttpClientTest, TakesEveryKindOfBody) {
  RawServer server(
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Service Unavailable\r\n"
       "Retry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbus\r\n1\r\ny\r\n"
       "0\r\n\r\n",
       "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 400 Bad Request\r\n\r\nuntil the end",
       std::string(RawServer::kHangUp)});
  use(server.port);
  auto reply = post("a");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 503U);
  EXPECT_EQ(reply->retry_after, "7");
  EXPECT_EQ(reply->body, "busy");
  reply = post("b");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 204U);
  reply = post("c");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 400U);
  EXPECT_EQ(reply->body, "until the end");
}

TEST_F(HttpClientTest, ALargeAnswersStatusIsEnough) {
  RawServer server(
      {"HTTP/1.1 500 Oops\r\nContent-Length: 100000000\r\n\r\n" + std::string(100'000, 'x')});
  use(server.port);
  const auto reply = post("a");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 500U);
  EXPECT_LE(reply->body.size(), 65'536U);
}

TEST_F(HttpClientTest, WhatIsNoHttpIsAnError) {
  RawServer server({"220 mail.example.org ESMTP\r\n"});
  use(server.port);
  const auto reply = post("a");
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("answers with what is no HTTP"));
}

TEST_F(HttpClientTest, AHeaderWithoutAnEndIsAnError) {
  RawServer server({"HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x')});
  use(server.port);
  EXPECT_FALSE(post("a"));
}

TEST_F(HttpClientTest, SilenceIsTimedOut) {
  RawServer server({""});
  use(server.port);
  const auto reply = post("a", 50ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::timed_out);
  EXPECT_THAT(reply.error().message, HasSubstr("has not answered within 50 ms"));
}

TEST_F(HttpClientTest, WhoHangsUpIsSaidToHaveDoneSo) {
  RawServer server({std::string(RawServer::kReadAndHangUp)});
  use(server.port);
  const auto reply = post("a");
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("closed the connection without an answer"));
}

TEST_F(HttpClientTest, TlsToAPlainPortSaysSo) {
  RawServer server({"HTTP/1.1 400 Bad Request\r\n\r\n"});
  use(server.port, true);
  const auto reply = post("a", 5s);
  ASSERT_FALSE(reply);
}

TEST_F(HttpClientTest, ItsEndGivesUp) {
  RawServer server({});
  use(server.port);
  client_->post({.target = "/", .fields = {}, .body = std::make_shared<const std::string>("a")},
                kPatience, [](const Result<HttpReply>&) { FAIL() << "called back"; });
  loop_.post([this] {
    client_.reset();
    loop_.stop();
  });
  loop_.run();
}

TEST_F(HttpClientTest, CertificatesThatAreNotThere) {
  const auto client = HttpClient::make(loop_, *log_,
                                       {.to = {.host = "localhost", .port = 1},
                                        .executable = "",
                                        .tls = true,
                                        .tls_ca = "/nonexistent/ca.pem"});
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, StartsWith("/nonexistent/ca.pem: "));
}

}  // namespace
}  // namespace dynolog
