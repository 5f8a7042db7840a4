// A server's reply to a post, over a real connection to ourselves: whatever it says, the client
// calls back once, within its bounds.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "net/http_client.h"

namespace {

using namespace dynolog;

void check(bool good) {
  if (!good) std::abort();
}

// A unix listener that answers everybody with the input and hangs up.
class Server {
 public:
  Server() {
    path_ = "@dynolog-http-reply-fuzz-" + std::to_string(::getpid());
    listening_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
    check(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    check(::listen(listening_.get(), 4) == 0);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return listening_.get(); }
  void answer(const std::uint8_t* data, std::size_t size) const {
    const UniqueFd peer(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.valid()) ::send(peer.get(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  std::string path_;
  UniqueFd listening_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 65'536) return 0;  // what a socket takes at once
  static const Server server;
  static const auto log = make_silent_log();
  EventLoop loop;
  const Watch accepting = loop.watch_readable(server.fd(), [&] { server.answer(data, size); });
  HttpClientOptions options;
  options.to.unix_path = server.path();
  options.max_body_bytes = 4096;
  auto client = HttpClient::make(loop, *log, options);
  check(client.has_value());
  int calls = 0;
  (*client)->post({.target = "/", .fields = {}, .body = std::make_shared<const std::string>("x")},
                  std::chrono::milliseconds(5000), [&](const Result<HttpReply>& reply) {
                    ++calls;
                    if (reply) check(reply->body.size() <= 4096 && reply->status < 1000);
                    loop.stop();
                  });
  loop.run();
  check(calls == 1);
  return 0;
}
