// The server over Asio, OpenSSL and Beast's parser. All but start() and the end is on its thread.
#include "net/http_server.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/unique_fd.h"
#include "net/event_loop.h"
#include "net/gzip.h"
#include "net/http_text.h"
#include "net/tls_context.h"

namespace dynolog {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

constexpr int kBacklog = 128;
constexpr std::size_t kLeastCompressed = 1024;
constexpr auto kDrainTime = std::chrono::seconds(1);
constexpr auto kAcceptPause = std::chrono::seconds(1);  // out of descriptors
constexpr std::size_t kMaxDrained = 64U << 10U;

// --- one type for plain and TLS connections ---

using Done = std::function<void(error_code)>;
using DoneSome = std::function<void(error_code, std::size_t)>;
using TwoBuffers = std::array<asio::const_buffer, 2>;

class Stream {
 public:
  virtual ~Stream() = default;
  virtual void handshake(Done done) = 0;
  virtual void read_some(asio::mutable_buffer buffer, DoneSome done) = 0;
  virtual void write_all(const TwoBuffers& buffers, DoneSome done) = 0;
  virtual void end_sending(Done done) = 0;
  virtual void close() = 0;
};

void close_socket(tcp::socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

class PlainStream final : public Stream {
 public:
  explicit PlainStream(tcp::socket socket) : socket_(std::move(socket)) {}
  void handshake(Done done) override { done({}); }
  void read_some(asio::mutable_buffer buffer, DoneSome done) override {
    socket_.async_read_some(buffer, std::move(done));
  }
  void write_all(const TwoBuffers& buffers, DoneSome done) override {
    asio::async_write(socket_, buffers, std::move(done));
  }
  void end_sending(Done done) override {
    error_code error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    done(error);
  }
  void close() override { close_socket(socket_); }

 private:
  tcp::socket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}
  void handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
  }
  void read_some(asio::mutable_buffer buffer, DoneSome done) override {
    stream_.async_read_some(buffer, std::move(done));
  }
  void write_all(const TwoBuffers& buffers, DoneSome done) override {
    asio::async_write(stream_, buffers, std::move(done));
  }
  void end_sending(Done done) override { stream_.async_shutdown(std::move(done)); }
  void close() override { close_socket(stream_.next_layer()); }

 private:
  std::shared_ptr<asio::ssl::context> context_;
  asio::ssl::stream<tcp::socket> stream_;
};

// --- certificates ---

Result<std::shared_ptr<asio::ssl::context>> load_tls(const HttpServerOptions& options) {
  auto context = make_tls_context(TlsSide::server);
  if (auto used = use_certificate(*context, options.tls_certificate, options.tls_key); !used) {
    return std::unexpected(std::move(used.error()));
  }
  if (options.tls_client_ca.empty()) return context;
  if (auto trusted = trust_authorities(*context, options.tls_client_ca); !trusted) {
    return std::unexpected(std::move(trusted.error()));
  }
  error_code ignored;
  context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert,
                           ignored);
  return context;
}

// What changes when a file is renewed, in place or by a rename.
using FileStamp = std::array<std::int64_t, 4>;
FileStamp stamp_of(const std::string& path) {
  struct stat status{};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return {};
  return {static_cast<std::int64_t>(status.st_ino), status.st_size, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

class Certificates {
 public:
  explicit Certificates(const HttpServerOptions& options) : options_(options) {}

  Status load() {
    if (options_.tls_certificate.empty()) return {};
    stamps_ = stamps();
    auto loaded = load_tls(options_);
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    context_ = std::move(*loaded);
    return {};
  }

  // nullptr: no TLS. Renewed files count from here on; of broken ones nothing is taken.
  std::shared_ptr<asio::ssl::context> context() {
    if (context_ && stamps() != stamps_) static_cast<void>(load());
    return context_;
  }

 private:
  [[nodiscard]] std::array<FileStamp, 3> stamps() const {
    return {stamp_of(options_.tls_certificate), stamp_of(options_.tls_key),
            stamp_of(options_.tls_client_ca)};
  }

  const HttpServerOptions& options_;
  std::array<FileStamp, 3> stamps_{};
  std::shared_ptr<asio::ssl::context> context_;
};

// --- one connection ---

struct Counting {
  std::atomic<std::uint64_t> requests = 0, refused = 0, timed_out = 0, evicted = 0, connections = 0;
};

// What connections see of their server.
struct ServerContext {
  const HttpServerOptions& options;
  const HttpHandler& handler;
  Counting& counting;
  std::function<void(std::uint64_t id)> closed;
};

std::string head_of(const HttpResponse& response, std::size_t size, bool zipped, bool keeps) {
  const auto status = static_cast<http::status>(response.status);
  const std::string_view reason = http::obsolete_reason(status);
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\nContent-Type: {}\r\n"
      "Content-Length: {}\r\nVary: Accept, Accept-Encoding\r\nX-Content-Type-Options: nosniff\r\n",
      response.status, reason, fmt::gmtime(std::time(nullptr)), response.content_type, size);
  if (zipped) head += "Content-Encoding: gzip\r\n";
  if (!response.authenticate.empty()) {
    head += fmt::format("WWW-Authenticate: {}\r\n", response.authenticate);
  }
  if (status == http::status::method_not_allowed) head += "Allow: GET, HEAD\r\n";
  head += keeps ? "\r\n" : "Connection: close\r\n\r\n";
  return head;
}

class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(const ServerContext& server, asio::io_context& io, std::uint64_t id,
          std::unique_ptr<Stream> stream)
      : server_(server), id_(id), stream_(std::move(stream)), timer_(io) {}

  void begin() {
    wait_at_most(server_.options.request_time);
    stream_->handshake([self = shared_from_this()](error_code error) {
      if (self->closed_) return;
      if (error) {
        ++self->server_.counting.refused;
        return self->close();
      }
      self->next_request();
    });
  }

  // nullopt: it does not wait for its client to ask.
  [[nodiscard]] std::optional<SteadyClock::time_point> waiting_since() const {
    return replying_ ? std::nullopt : std::optional(since_);
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    timer_.cancel();
    stream_->close();
    server_.closed(id_);
  }

 private:
  using Parser = http::request_parser<http::empty_body>;

  void wait_at_most(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error || self->closed_ || SteadyClock::now() < self->timer_.expiry()) return;
      if (!self->is_idle()) ++self->server_.counting.timed_out;
      self->close();
    });
  }

  [[nodiscard]] bool is_idle() const { return !replying_ && in_.empty() && !begun_; }

  void next_request() {
    replying_ = false;
    begun_ = false;
    since_ = SteadyClock::now();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(server_.options.max_header_bytes));
    parser_->body_limit(0);
    if (in_.empty()) {
      wait_at_most(server_.options.idle_time);
      return read();
    }
    begin_request();
    parse();
  }

  void begin_request() {
    begun_ = true;
    wait_at_most(server_.options.request_time);
  }

  void read() {
    stream_->read_some(asio::buffer(chunk_),
                       [self = shared_from_this()](error_code error, std::size_t size) {
                         if (self->closed_) return;
                         if (error) return self->close();
                         self->in_.append(self->chunk_.data(), size);
                         if (!self->begun_) self->begin_request();
                         self->parse();
                       });
  }

  void parse() {
    while (!parser_->is_done()) {
      error_code error;
      const std::size_t used = parser_->put(asio::buffer(in_), error);
      in_.erase(0, used);
      if (error == http::error::need_more) {
        if (in_.size() > server_.options.max_header_bytes)
          error = http::error::header_limit;
        else
          return read();
      }
      if (error) return refuse(error);
    }
    ++server_.counting.requests;
    answer(parser_->get());
  }

  void refuse(const error_code& error) {
    ++server_.counting.refused;
    HttpResponse response{.status = 400, .body = "this is no request that can be read\n"};
    if (error == http::error::header_limit) {
      response = {.status = 431, .body = "the request's header is too large\n"};
    } else if (error == http::error::body_limit || error == http::error::unexpected_body) {
      response = {.status = 413, .body = "requests have no body here\n"};
    }
    send(std::move(response), {.keeps = false});
  }

  void answer(const http::request<http::empty_body>& request) {
    Sending how{.keeps = parser_->keep_alive(),
                .zips = accepts_gzip(field(request, "Accept-Encoding")),
                .head_only = request.method() == http::verb::head};
    const std::string_view target(request.target().data(), request.target().size());
    if (request.method() != http::verb::get && !how.head_only) {
      return send({.status = 405, .body = "only GET and HEAD are served here\n"}, how);
    }
    if (!target.starts_with('/')) {
      return send({.status = 400, .body = "the request's target is no path\n"}, how);
    }
    const std::size_t mark = std::min(target.find('?'), target.size());
    send(server_.handler({.path = target.substr(0, mark),
                          .query = target.substr(std::min(mark + 1, target.size())),
                          .accept = field(request, "Accept"),
                          .authorization = field(request, "Authorization")}),
         how);
  }

  static std::string_view field(const http::request<http::empty_body>& request,
                                std::string_view name) {
    const auto value = request[boost::beast::string_view(name.data(), name.size())];
    return {value.data(), value.size()};
  }

  struct Sending {
    bool keeps = true;
    bool zips = false;
    bool head_only = false;
  };

  void send(HttpResponse response, Sending how) {
    bool zipped = false;
    if (how.zips && response.body.size() >= kLeastCompressed) {
      if (auto small = gzip(response.body)) {
        response.body = std::move(*small);
        zipped = true;
      }
    }
    replying_ = true;
    keeps_ = how.keeps;
    head_ = head_of(response, response.body.size(), zipped, keeps_);
    body_ = how.head_only ? std::string() : std::move(response.body);
    wait_at_most(server_.options.reply_time);
    stream_->write_all({asio::buffer(head_), asio::buffer(body_)},
                       [self = shared_from_this()](error_code error, std::size_t) {
                         std::string().swap(self->body_);  // a large page's memory is not kept
                         if (self->closed_) return;
                         if (error) return self->close();
                         if (self->keeps_) return self->next_request();
                         self->end();
                       });
  }

  // What the client still sends is read, lest the close destroy the reply on its way.
  void end() {
    wait_at_most(kDrainTime);
    stream_->end_sending([self = shared_from_this()](error_code) {
      if (!self->closed_) self->drain();
    });
  }

  void drain() {
    stream_->read_some(asio::buffer(chunk_),
                       [self = shared_from_this()](error_code error, std::size_t size) {
                         if (self->closed_) return;
                         self->drained_ += size;
                         if (error || self->drained_ > kMaxDrained) return self->close();
                         self->drain();
                       });
  }

  const ServerContext& server_;
  const std::uint64_t id_;
  std::unique_ptr<Stream> stream_;
  asio::steady_timer timer_;
  std::array<char, 2048> chunk_{};
  std::string in_;  // what was read and is not parsed yet
  std::optional<Parser> parser_;
  std::string head_;
  std::string body_;
  SteadyClock::time_point since_ = SteadyClock::now();
  bool begun_ = false;  // a request's first byte is here
  bool replying_ = false;
  bool keeps_ = false;
  bool closed_ = false;
  std::size_t drained_ = 0;
};

// --- listening ---

struct Listening {
  UniqueFd socket;
  int port = 0;
};

std::unexpected<Error> listen_error(int error_number, const HttpServerOptions& options) {
  if (error_number == EADDRINUSE) {
    return fail(ErrorKind::unavailable,
                fmt::format("port {0} is taken by another process (`ss -ltnp sport = :{0}` shows "
                            "which)",
                            options.port));
  }
  return fail_errno(error_number,
                    fmt::format("listening on {} port {}", options.address, options.port));
}

Result<Listening> listen_on(const HttpServerOptions& options) {
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) {
    return fail(ErrorKind::invalid, fmt::format("'{}' is no IP address", options.address));
  }
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
  UniqueFd socket(::socket(address.is_v6() ? AF_INET6 : AF_INET,
                           SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return listen_error(errno, options);
  const int on = 1;
  const int only = address.is_unspecified() ? 0 : 1;  // "::" takes both families
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // inherited
  if (address.is_v6()) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  if (::bind(socket.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return listen_error(errno, options);
  }
  tcp::endpoint bound;
  auto size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(socket.get(), bound.data(), &size) != 0) return listen_error(errno, options);
  return Listening{std::move(socket), bound.port()};
}

// --- the server ---

class ThreadedServer final : public HttpServer {
 public:
  ThreadedServer(HttpServerOptions options, HttpHandler handler, Listening listening)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        listening_(std::move(listening)),
        certificates_(options_),
        context_{options_, handler_, counting_, [this](std::uint64_t id) { forget(id); }} {}

  ~ThreadedServer() override {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    context_.closed = [](std::uint64_t) {};
    accepting_ = {};
    for (auto& [id, session] : sessions_) session->close();
  }

  Status begin() {
    if (auto loaded = certificates_.load(); !loaded) return loaded;
    accept_from_now_on();
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), options_.thread_name.substr(0, 15).c_str());
      loop_.run();
    });
    return {};
  }

  [[nodiscard]] int port() const override { return listening_.port; }
  [[nodiscard]] HttpCounters counters() const override {
    return {counting_.requests, counting_.refused, counting_.timed_out, counting_.evicted,
            counting_.connections};
  }

 private:
  void accept_from_now_on() {
    accepting_ = loop_.watch_readable(listening_.socket.get(), [this] { accept_waiting(); });
  }

  void accept_waiting() {
    while (true) {
      UniqueFd socket(
          ::accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.valid()) {
        open(std::move(socket));
      } else if (errno == EAGAIN) {
        return;
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return pause();
      }
    }
  }

  // The connection that could not be accepted keeps the socket readable: looking again at once
  // would take all of a CPU.
  void pause() {
    paused_ = loop_.after(kAcceptPause, [this] { accept_from_now_on(); });
    accepting_ = {};
  }

  void open(UniqueFd descriptor) {
    if (sessions_.size() >= options_.max_connections && !evict()) return;
    tcp::socket socket(loop_.context());
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    ::getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&own), &size);
    error_code error;
    socket.assign(own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor.get(), error);
    if (error) return;
    static_cast<void>(descriptor.release());  // the socket's now
    std::unique_ptr<Stream> stream;
    if (auto tls = certificates_.context()) {
      stream = std::make_unique<TlsStream>(std::move(socket), std::move(tls));
    } else {
      stream = std::make_unique<PlainStream>(std::move(socket));
    }
    const std::uint64_t id = ++last_id_;
    const auto session =
        std::make_shared<Session>(context_, loop_.context(), id, std::move(stream));
    sessions_.emplace(id, session);
    ++counting_.connections;
    session->begin();
  }

  // False when all are being answered.
  bool evict() {
    std::shared_ptr<Session> oldest;
    for (const auto& [id, session] : sessions_) {
      const auto since = session->waiting_since();
      if (since && (!oldest || *since < *oldest->waiting_since())) oldest = session;
    }
    if (!oldest) return false;
    ++counting_.evicted;
    oldest->close();
    return true;
  }

  void forget(std::uint64_t id) {
    sessions_.erase(id);
    --counting_.connections;
  }

  const HttpServerOptions options_;
  const HttpHandler handler_;
  const Listening listening_;
  Certificates certificates_;
  Counting counting_;
  ServerContext context_;
  EventLoop loop_;
  Watch accepting_;
  Timer paused_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Session>> sessions_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options,
                                                      HttpHandler handler) {
  auto listening = listen_on(options);
  if (!listening) return std::unexpected(std::move(listening.error()));
  auto server = std::make_unique<ThreadedServer>(std::move(options), std::move(handler),
                                                 std::move(*listening));
  // The thread inherits the mask: signals are the main thread's.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto begun = server->begin();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!begun) return std::unexpected(std::move(begun.error()));
  return server;
}

}  // namespace dynolog
