// The HTTP server over real sockets: good, bad, slow and too many clients.
#include "net/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "testing/patience.h"

namespace dynolog {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

HttpResponse echo(const HttpRequest& request) {
  if (request.path == "/large") return {.body = std::string(8U << 20U, 'x')};
  if (request.path == "/text") return {.body = std::string(5000, 'y')};
  if (request.path == "/closed") return {.status = 401, .body = "no\n", .authenticate = "Basic"};
  return {.body = std::string(request.path) + "|" + std::string(request.query) + "|" +
                  std::string(request.accept) + "|" + std::string(request.authorization) + "\n"};
}

class HttpServerTest : public testing::Test {
 protected:
  void serve(HttpServerOptions options = {}) {
    options.address = "127.0.0.1";
    auto server = HttpServer::start(std::move(options), echo);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  [[nodiscard]] UniqueFd connected() const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    be_patient(socket.get());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  static void say(const UniqueFd& socket, std::string_view text) {
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  // All until the server closes.
  static std::string rest_of(const UniqueFd& socket) {
    std::string all;
    char piece[65536];
    ssize_t size = 0;
    while ((size = ::recv(socket.get(), piece, sizeof piece, 0)) > 0) {
      all.append(piece, static_cast<std::size_t>(size));
    }
    EXPECT_EQ(size, 0) << "closed, not reset and not hung";
    return all;
  }

  [[nodiscard]] std::string answer(std::string_view text) const {
    const UniqueFd socket = connected();
    say(socket, text);
    return rest_of(socket);
  }

  // One reply of a connection that stays open; its body ends in a newline.
  static std::string one_line_reply(const UniqueFd& socket) {
    std::string all;
    char letter = 0;
    std::size_t head = std::string::npos;
    while (head == std::string::npos || all.back() != '\n' || all.size() == head + 4) {
      if (::recv(socket.get(), &letter, 1, 0) != 1) return all + "<end>";
      all += letter;
      if (head == std::string::npos && all.ends_with("\r\n\r\n")) head = all.size() - 4;
    }
    return all;
  }

  std::unique_ptr<HttpServer> server_;
};

constexpr std::string_view kClosing = "GET /a?b=c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST_F(HttpServerTest, GivesTheHandlerWhatItNeeds) {
  serve();
  const std::string reply = answer(
      "GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\nAuthorization: Bearer t\r\n"
      "Connection: close\r\n\r\n");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n/a|b=c|text/plain|Bearer t\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Length: 27\r\n"));
  EXPECT_THAT(reply, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(reply, HasSubstr("Vary: Accept, Accept-Encoding\r\n"));
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  serve();
  const std::string reply = answer("HEAD /text HTTP/1.0\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr("Content-Length: 5000\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, AConnectionServesManyRequestsAlsoPipelined) {
  serve();
  const UniqueFd socket = connected();
  say(socket, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(one_line_reply(socket), EndsWith("/1|||\n"));
  say(socket, "GET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\nGET /4");
  EXPECT_THAT(one_line_reply(socket), EndsWith("/2|||\n"));
  EXPECT_THAT(one_line_reply(socket), EndsWith("/3|||\n"));
  say(socket, " HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(rest_of(socket), EndsWith("/4|||\n"));
  EXPECT_EQ(server_->counters().requests, 4U);
}

TEST_F(HttpServerTest, CompressesForWhoTakesIt) {
  serve();
  const std::string zipped =
      answer("GET /text HTTP/1.1\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(zipped, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(zipped, HasSubstr("\r\n\r\n\x1f\x8b"));
  EXPECT_LT(zipped.size(), 1000U);
  const std::string plain = answer("GET /text HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(plain, Not(HasSubstr("Content-Encoding")));
  EXPECT_THAT(plain, EndsWith(std::string(5000, 'y')));
}

TEST_F(HttpServerTest, ALargePageArrivesWhole) {
  serve();
  const std::string reply = answer("GET /large HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(reply.size() - reply.find("\r\n\r\n") - 4, 8U << 20U);
}

TEST_F(HttpServerTest, SaysWhatItDoesNotServe) {
  serve();
  const auto status = [this](std::string_view text) { return answer(text).substr(9, 3); };
  const std::string post = answer("POST / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(post, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_EQ(status("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"), "413");
  EXPECT_EQ(status("GET http://x/ HTTP/1.1\r\nConnection: close\r\n\r\n"), "400");
  EXPECT_EQ(status("nonsense\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA: " + std::string(9000, 'x') + "\r\n\r\n"), "431");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n" + std::string(9000, 'x')), "431");
  EXPECT_EQ(status(std::string(100'000, '\x16')), "400") << "TLS where there is none, say";
  EXPECT_GE(server_->counters().refused, 5U);
  EXPECT_THAT(answer("GET /closed HTTP/1.1\r\nConnection: close\r\n\r\n"),
              HasSubstr("WWW-Authenticate: Basic\r\n"));
}

TEST_F(HttpServerTest, ASlowClientIsClosed) {
  serve({.address = "", .request_time = std::chrono::milliseconds(50)});
  const UniqueFd socket = connected();
  say(socket, "GET / HT");
  EXPECT_EQ(rest_of(socket), "");
  EXPECT_EQ(server_->counters().timed_out, 1U);
}

TEST_F(HttpServerTest, AnIdleClientIsClosed) {
  serve({.address = "", .idle_time = std::chrono::milliseconds(50)});
  const UniqueFd socket = connected();
  EXPECT_EQ(rest_of(socket), "");
  EXPECT_EQ(server_->counters().timed_out, 0U);
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsClosed) {
  serve({.address = "", .reply_time = std::chrono::milliseconds(50)});
  const UniqueFd socket = connected();
  const int small = 4096;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  say(socket, "GET /large HTTP/1.1\r\n\r\n");
  while (server_->counters().timed_out == 0) ::sched_yield();
  EXPECT_THAT(answer(kClosing), EndsWith("/a|b=c||\n")) << "others are served all the same";
}

TEST_F(HttpServerTest, WhoHasWaitedLongestMakesRoom) {
  serve({.address = "", .max_connections = 3});
  const UniqueFd first = connected();
  say(first, "GET /1 HTTP/1.1\r\n\r\n");
  one_line_reply(first);
  const UniqueFd second = connected();
  say(second, "GET /2 HTTP/1.1\r\n\r\n");
  one_line_reply(second);
  say(first, "GET /1 HTTP/1.1\r\n\r\n");
  one_line_reply(first);
  const UniqueFd third = connected();
  say(third, "GET /3 HTTP/1.1\r\n\r\n");
  one_line_reply(third);
  EXPECT_THAT(answer(kClosing), EndsWith("/a|b=c||\n"));
  EXPECT_EQ(rest_of(second), "");
  EXPECT_EQ(server_->counters().evicted, 1U);
}

TEST_F(HttpServerTest, ATakenPortIsAnError) {
  serve();
  HttpServerOptions options{.address = "127.0.0.1", .port = server_->port()};
  const auto second = HttpServer::start(options, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(second.error().message, HasSubstr("taken by another process"));
}

TEST_F(HttpServerTest, BadOptionsAreErrors) {
  EXPECT_FALSE(HttpServer::start({.address = "localhost"}, echo));
  const auto tls = HttpServer::start({.address = "127.0.0.1",
                                      .tls_certificate = "/nonexistent.pem",
                                      .tls_key = "/nonexistent.key"},
                                     echo);
  ASSERT_FALSE(tls);
  EXPECT_THAT(tls.error().message, StartsWith("/nonexistent.pem: "));
}

TEST_F(HttpServerTest, EndsWhileClientsWait) {
  serve();
  const UniqueFd idle = connected();
  const UniqueFd half = connected();
  say(half, "GET / HT");
  const UniqueFd busy = connected();
  say(busy, "GET /large HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer(kClosing), StartsWith("HTTP/1.1 200 "));
  server_.reset();
  rest_of(idle);
}

}  // namespace
}  // namespace dynolog
