// One address after another, over Asio.
#include "net/connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "net/host_resolver.h"

namespace dynolog {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMaxUnixPath = 107;

// The kind is worth keeping: "refused" and "no route" may be gone in a second, "denied" not.
std::unexpected<Error> connect_error(const error_code& error, const std::string& to) {
  return fail_errno(error.value(), "connecting to " + to);
}

template <class Socket>
Result<UniqueFd> released(Socket& socket) {
  error_code error;
  socket.non_blocking(true, error);
  if (!error) socket.native_non_blocking(true, error);
  const int fd = socket.release(error);
  if (error) return fail_errno(error.value(), "taking a connection over");
  return UniqueFd(fd);
}

class AsioConnector final : public Connector {
 public:
  AsioConnector(EventLoop& loop, Log& log, std::string executable)
      : loop_(loop), resolver_(HostResolver::make(loop, log, std::move(executable))) {}
  AsioConnector(const AsioConnector&) = delete;
  AsioConnector& operator=(const AsioConnector&) = delete;
  ~AsioConnector() override { give_up(); }

  void cancel() override { give_up(); }

  void connect(const Destination& to, std::chrono::milliseconds patience, Done done) override {
    give_up();
    to_ = to;
    done_ = std::move(done);
    deadline_ = SteadyClock::now() + patience;
    // Later, so that nobody is called back while still calling.
    begin_ = loop_.after({}, [this, patience] {
      if (!to_.unix_path.empty()) return connect_local();
      resolver_->resolve(to_.host, patience, [this](Result<std::vector<std::string>> addresses) {
        if (!addresses) return finish(std::unexpected(std::move(addresses.error())));
        addresses_ = std::move(*addresses);
        connect_next(0);
      });
    });
  }

 private:
  void give_up() {
    ++attempt_;
    begin_ = {};
    late_ = {};
    error_code ignored;
    if (tcp_) tcp_->close(ignored);
    if (local_) local_->close(ignored);
    tcp_.reset();
    local_.reset();
    done_ = nullptr;
  }

  void finish(Result<UniqueFd> result) {
    const Done done = std::exchange(done_, nullptr);
    give_up();
    if (done) done(std::move(result));
  }

  // An abandoned attempt's handler still runs, perhaps after the connector's end: `attempt_` is
  // shared with it.
  void connect_next(std::size_t index) {
    const auto address = asio::ip::make_address(addresses_[index]);
    const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(to_.port));
    tcp_ = std::make_shared<tcp::socket>(loop_.context());
    const auto left = std::max(deadline_ - SteadyClock::now(), SteadyClock::duration::zero());
    const auto others = addresses_.size() - index;
    late_ = loop_.after(left / others, [this, index] {
      connected(index, make_error_code(boost::system::errc::timed_out));
    });
    const Attempt attempt = attempt_.begin();
    tcp_->async_connect(endpoint, [this, index, attempt, keep = tcp_](error_code error) {
      if (attempt.is_current()) connected(index, error);
    });
  }

  void connected(std::size_t index, error_code error) {
    late_ = {};
    if (!error) {
      tcp_->set_option(tcp::no_delay(true), error);
      return finish(released(*tcp_));
    }
    ++attempt_;
    error_code ignored;
    tcp_->close(ignored);
    if (index + 1 < addresses_.size()) return connect_next(index + 1);
    const Destination tried{.host = addresses_[index], .port = to_.port};
    const std::string where = to_.host == addresses_[index]
                                  ? to_.text()
                                  : fmt::format("{} ({})", to_.text(), tried.text());
    finish(connect_error(error, where));
  }

  void connect_local() {
    if (to_.unix_path.size() > kMaxUnixPath) {
      return finish(fail(ErrorKind::invalid, to_.unix_path + ": too long for a unix socket"));
    }
    std::string path = to_.unix_path;
    if (path.front() == '@') path.front() = '\0';
    local_ = std::make_shared<Local::socket>(loop_.context());
    const Attempt attempt = attempt_.begin();
    late_ = loop_.after(deadline_ - SteadyClock::now(), [this] {
      finish(connect_error(make_error_code(boost::system::errc::timed_out), to_.text()));
    });
    local_->async_connect(Local::endpoint(path), [this, attempt, keep = local_](error_code error) {
      if (!attempt.is_current()) return;
      if (error) return finish(connect_error(error, to_.text()));
      finish(released(*local_));
    });
  }

  // Tells a handler whether anybody still waits for it.
  class Attempt {
   public:
    explicit Attempt(std::shared_ptr<std::uint64_t> newest)
        : newest_(std::move(newest)), own_(*newest_) {}
    [[nodiscard]] bool is_current() const { return *newest_ == own_; }

   private:
    std::shared_ptr<std::uint64_t> newest_;
    std::uint64_t own_;
  };
  class Attempts {
   public:
    Attempts& operator++() {
      ++*newest_;
      return *this;
    }
    [[nodiscard]] Attempt begin() const { return Attempt(newest_); }

   private:
    std::shared_ptr<std::uint64_t> newest_ = std::make_shared<std::uint64_t>(0);
  };

  EventLoop& loop_;
  std::unique_ptr<HostResolver> resolver_;
  Destination to_;
  Done done_;
  SteadyClock::time_point deadline_;
  Attempts attempt_;
  std::vector<std::string> addresses_;
  std::shared_ptr<tcp::socket> tcp_;
  std::shared_ptr<Local::socket> local_;
  Timer begin_;
  Timer late_;
};

}  // namespace

std::string Destination::text() const {
  if (!unix_path.empty()) return unix_path;
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::unique_ptr<Connector> Connector::make(EventLoop& loop, Log& log, std::string executable) {
  return std::make_unique<AsioConnector>(loop, log, std::move(executable));
}

}  // namespace dynolog
