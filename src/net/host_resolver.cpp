// The daemon's part and the child's part of resolving.
#include "net/host_resolver.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/ip/address.hpp>

#include "base/text.h"
#include "net/child_process.h"

namespace dynolog {
namespace {

bool is_address(const std::string& text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  return !error;
}

class ChildResolver final : public HostResolver {
 public:
  ChildResolver(EventLoop& loop, Log& log, std::string executable)
      : loop_(loop), log_(log), executable_(std::move(executable)) {}

  void resolve(const std::string& host, std::chrono::milliseconds patience, Done done) override {
    give_up();
    if (is_address(host)) return done(std::vector<std::string>{host});
    if (host == "localhost") return done(std::vector<std::string>{"127.0.0.1", "::1"});
    done_ = std::move(done);
    host_ = host;
    auto child = ChildProcess::start(
        loop_, log_, {.executable = executable_, .arguments = {"--worker=resolve"}},
        [this](std::string_view frame) { answered(frame); },
        [this](ChildProcess::Exit) { finish(fail(ErrorKind::failed, "the resolver crashed")); });
    if (!child) return finish(std::unexpected(std::move(child.error())));
    child_ = std::move(*child);
    if (auto sent = child_->send(host); !sent) return finish(std::unexpected(sent.error()));
    late_ = loop_.after(patience, [this] {
      finish(fail(ErrorKind::timed_out, "the name servers do not answer in time"));
    });
  }

 private:
  void give_up() {
    late_ = {};
    child_.reset();
    done_ = nullptr;
  }

  void answered(std::string_view frame) { finish(decode_resolved(frame)); }

  // A child may be destroyed in its own callback.
  void finish(Result<std::vector<std::string>> result) {
    late_ = {};
    child_.reset();
    const Done done = std::exchange(done_, nullptr);
    if (!done) return;
    if (!result) result = with_context(std::move(result.error()), "looking up " + host_);
    done(std::move(result));
  }

  EventLoop& loop_;
  Log& log_;
  const std::string executable_;
  std::unique_ptr<ChildProcess> child_;
  Timer late_;
  std::string host_;
  Done done_;
};

std::string resolved(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return fmt::format("!{}", ::gai_strerror(error));
  std::string addresses;
  std::size_t count = 0;
  for (const addrinfo* entry = found; entry != nullptr && count < kMaxHostAddresses;
       entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0) {
      continue;
    }
    addresses += fmt::format("{}\n", text.data());
    ++count;
  }
  ::freeaddrinfo(found);
  return addresses.empty() ? "!it has no address" : addresses;
}

}  // namespace

std::unique_ptr<HostResolver> HostResolver::make(EventLoop& loop, Log& log,
                                                 std::string executable) {
  return std::make_unique<ChildResolver>(loop, log, std::move(executable));
}

int run_resolve_worker(int channel) {
  std::string host;
  while (receive_frame(channel, host)) {
    if (host.size() > kMaxHostName || host.contains('\0')) return 1;
    if (!send_frame(channel, resolved(host))) return 1;
  }
  return 0;
}

Result<std::vector<std::string>> decode_resolved(std::string_view frame) {
  constexpr std::size_t kMaxSentence = 200;
  if (frame.starts_with('!')) {
    return fail(ErrorKind::not_found, clean_text(frame.substr(1), kMaxSentence));
  }
  std::vector<std::string> addresses;
  for (const std::string_view line : split(frame, '\n')) {
    if (line.empty() || line.size() > NI_MAXHOST || addresses.size() >= kMaxHostAddresses) continue;
    std::string address(line);
    if (!is_address(address)) {
      return fail(ErrorKind::invalid, "the resolver answered with what is no address");
    }
    addresses.push_back(std::move(address));
  }
  if (addresses.empty()) return fail(ErrorKind::not_found, "it has no address");
  return addresses;
}

}  // namespace dynolog
