// The client over Asio, OpenSSL and Beast's parser.
#include "net/http_client.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/text.h"
#include "net/tls_context.h"

namespace dynolog {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxSentence = 300;

using Done = std::function<void(error_code)>;
using DoneSome = std::function<void(error_code, std::size_t)>;
using TwoBuffers = std::array<asio::const_buffer, 2>;

// One type for plain and TLS connections.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void handshake(Done done) = 0;
  virtual void read_some(asio::mutable_buffer buffer, DoneSome done) = 0;
  virtual void write_all(const TwoBuffers& buffers, DoneSome done) = 0;
  virtual void close() = 0;
  // What OpenSSL says of the server's certificate; "" when nothing is wrong with it.
  [[nodiscard]] virtual std::string distrust() const { return {}; }
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
  void close() override { close_socket(socket_); }

 private:
  tcp::socket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(tcp::socket socket, std::shared_ptr<asio::ssl::context> context,
            const std::string& host)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {
    SSL* ssl = stream_.native_handle();
    error_code error;
    asio::ip::make_address(host, error);
    if (error) {
      SSL_set_tlsext_host_name(ssl, host.c_str());
      SSL_set1_host(ssl, host.c_str());
    } else {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
    }
  }
  void handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::client, std::move(done));
  }
  void read_some(asio::mutable_buffer buffer, DoneSome done) override {
    stream_.async_read_some(buffer, std::move(done));
  }
  void write_all(const TwoBuffers& buffers, DoneSome done) override {
    asio::async_write(stream_, buffers, std::move(done));
  }
  void close() override { close_socket(stream_.next_layer()); }
  [[nodiscard]] std::string distrust() const override {
    // Asio's stream gives its handle to who may change it only.
    const long result =
        SSL_get_verify_result(const_cast<asio::ssl::stream<tcp::socket>&>(stream_).native_handle());
    return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
  }

 private:
  std::shared_ptr<asio::ssl::context> context_;
  asio::ssl::stream<tcp::socket> stream_;
};

Result<std::shared_ptr<asio::ssl::context>> load_tls(const HttpClientOptions& options) {
  auto context = make_tls_context(TlsSide::client);
  error_code ignored;
  context->set_verify_mode(asio::ssl::verify_peer, ignored);
  if (auto trusted = trust_authorities(*context, options.tls_ca); !trusted) {
    return std::unexpected(std::move(trusted.error()));
  }
  if (options.tls_certificate.empty()) return context;
  if (auto used = use_certificate(*context, options.tls_certificate, options.tls_key); !used) {
    return std::unexpected(std::move(used.error()));
  }
  return context;
}

// One connection, with all that its handlers touch; they outlive the client.
struct Link {
  std::unique_ptr<Stream> stream;
  std::array<char, 4096> chunk{};
  bool closed = false;
};

// What is being sent.
struct Exchange {
  std::string head;
  std::shared_ptr<const std::string> body;
};

class PostingClient final : public HttpClient {
 public:
  PostingClient(EventLoop& loop, Log& log, HttpClientOptions options)
      : loop_(loop),
        options_(std::move(options)),
        connector_(Connector::make(loop, log, options_.executable)) {}
  PostingClient(const PostingClient&) = delete;
  PostingClient& operator=(const PostingClient&) = delete;
  ~PostingClient() override { close(); }

  void post(HttpPost post, std::chrono::milliseconds patience, HttpClient::Done done) override {
    if (done_) close();
    done_ = std::move(done);
    patience_ = patience;
    exchange_ = std::make_shared<Exchange>(Exchange{head_of(post), post.body});
    late_ = loop_.after(patience, [this] {
      finish(fail(ErrorKind::timed_out, fmt::format("{} has not answered within {} ms",
                                                    options_.to.text(), patience_.count())));
    });
    may_repeat_ = link_ != nullptr;  // a kept connection may have been closed by now
    if (link_) return send();
    connect();
  }

 private:
  using Parser = http::response_parser<http::string_body>;

  [[nodiscard]] std::string head_of(const HttpPost& post) const {
    std::string head = fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\n",
                                   post.target, options_.to.text(), options_.user_agent);
    for (const auto& [name, value] : post.fields) head += fmt::format("{}: {}\r\n", name, value);
    head += fmt::format("Content-Length: {}\r\n\r\n", post.body->size());
    return head;
  }

  void connect() {
    connector_->connect(options_.to, patience_, [this](Result<UniqueFd> socket) {
      if (!socket) return finish(std::unexpected(std::move(socket.error())));
      connected(std::move(*socket));
    });
  }

  void connected(UniqueFd descriptor) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    ::getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&own), &size);
    tcp::socket socket(loop_.context());
    socket.assign(own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor.release());
    auto link = std::make_shared<Link>();
    if (options_.tls) {
      auto context = load_tls(options_);
      if (!context) return finish(std::unexpected(std::move(context.error())));
      link->stream =
          std::make_unique<TlsStream>(std::move(socket), std::move(*context), options_.to.host);
    } else {
      link->stream = std::make_unique<PlainStream>(std::move(socket));
    }
    link_ = link;
    link->stream->handshake([this, link](error_code error) {
      if (link->closed) return;
      if (error) return finish(tls_error(error));
      send();
    });
  }

  void send() {
    in_.clear();
    new_parser();
    const TwoBuffers buffers{asio::buffer(exchange_->head), asio::buffer(*exchange_->body)};
    link_->stream->write_all(
        buffers, [this, link = link_, exchange = exchange_](error_code error, std::size_t) {
          // An error too: what the server said before it closed is to be read.
          if (link->closed) return;
          write_error_ = error;
          read();
        });
  }

  void new_parser() {
    parser_.emplace();
    parser_->eager(true);
    parser_->header_limit(static_cast<std::uint32_t>(options_.max_header_bytes));
    parser_->body_limit(options_.max_body_bytes);
  }

  void read() {
    link_->stream->read_some(asio::buffer(link_->chunk),
                             [this, link = link_](error_code error, std::size_t size) {
                               if (link->closed) return;
                               if (error) return ended(error);
                               may_repeat_ = false;
                               in_.append(link->chunk.data(), size);
                               parse();
                             });
  }

  void parse() {
    while (!parser_->is_done()) {
      error_code error;
      const std::size_t used = parser_->put(asio::buffer(in_), error);
      in_.erase(0, used);
      if (error == http::error::need_more && in_.size() <= options_.max_header_bytes) {
        return read();
      }
      if (!error && !parser_->is_done() && in_.empty()) return read();
      if (error == http::error::body_limit && parser_->is_header_done()) return answered(false);
      if (error) {
        return finish(fail(ErrorKind::failed, fmt::format("{} answers with what is no HTTP: {}",
                                                          options_.to.text(), error.message())));
      }
      if (parser_->is_done() && parser_->get().result_int() / 100 == 1) new_parser();
    }
    answered(parser_->keep_alive() && !write_error_);
  }

  // The connection is over before the reply was.
  void ended(const error_code& error) {
    if (parser_->got_some()) {
      error_code unfinished;
      parser_->put_eof(unfinished);
      if (!unfinished && parser_->is_done()) return answered(false);
    }
    if (may_repeat_) {
      close_link();
      may_repeat_ = false;
      return connect();
    }
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
      return finish(
          fail(ErrorKind::failed, options_.to.text() + " closed the connection without an answer"));
    }
    finish(tls_error(error));
  }

  std::unexpected<Error> tls_error(const error_code& error) const {
    const std::string to = options_.to.text();
    const std::string distrust = link_->stream->distrust();
    if (!distrust.empty()) {
      return fail(ErrorKind::denied,
                  with_hint(fmt::format("the certificate of {} is not trusted: {}", to, distrust),
                            options_.ca_hint));
    }
    if (error.category() != asio::error::get_ssl_category()) {
      return fail_errno(error.value(), "talking to " + to);
    }
    const std::string said =
        fmt::format("TLS with {} fails: {}", to, clean_text(error.message(), kMaxSentence));
    switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
      case SSL_R_WRONG_VERSION_NUMBER:
        return fail(ErrorKind::failed, said + "; that port may speak http://");
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return fail(ErrorKind::denied, with_hint(said, options_.certificate_hint));
      default:
        return fail(ErrorKind::failed, said);
    }
  }

  static std::string with_hint(std::string sentence, const std::string& hint) {
    return hint.empty() ? sentence : sentence + "; " + hint;
  }

  void answered(bool keeps) {
    const auto& message = parser_->get();
    HttpReply reply{.status = message.result_int(),
                    .content_type = std::string(message[http::field::content_type]),
                    .retry_after = std::string(message[http::field::retry_after]),
                    .body = message.body()};
    const HttpClient::Done done = take_done();
    if (!keeps) close_link();
    done(std::move(reply));
  }

  void finish(Result<HttpReply> result) {
    const HttpClient::Done done = take_done();
    close();
    if (done) done(std::move(result));
  }

  HttpClient::Done take_done() {
    late_ = {};
    return std::exchange(done_, nullptr);
  }

  void close_link() {
    write_error_ = {};
    if (!link_) return;
    link_->closed = true;
    link_->stream->close();
    link_.reset();
  }

  void close() {
    late_ = {};
    done_ = nullptr;
    close_link();
    connector_->cancel();
  }

  EventLoop& loop_;
  const HttpClientOptions options_;
  std::unique_ptr<Connector> connector_;
  HttpClient::Done done_;
  std::chrono::milliseconds patience_{};
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<Link> link_;
  std::optional<Parser> parser_;
  std::string in_;
  error_code write_error_;
  bool may_repeat_ = false;
  Timer late_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::make(EventLoop& loop, Log& log,
                                                     HttpClientOptions options) {
  if (options.tls) {
    if (auto context = load_tls(options); !context) {
      return std::unexpected(std::move(context.error()));
    }
  }
  return std::make_unique<PostingClient>(loop, log, std::move(options));
}

}  // namespace dynolog
