// The state of one connection over an Asio socket.
#include "rpc/connection.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/text.h"
#include "net/framing.h"
#include "rpc/methods/all_methods.h"
#include "rpc/protocol/codec.h"

namespace dynolog::rpc {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr SteadyTime kNever = SteadyTime::max();
// What a reader of a stream may leave unread before it is given up.
constexpr std::size_t kMaxStreamBacklog = 1U << 20U;
// After an error the peer's remaining bytes are read and dropped, so that closing does not turn
// into a reset that destroys the reply; this long and this much.
constexpr std::chrono::milliseconds kDrainTime{1000};
constexpr std::size_t kDrainBytes = 4U << 20U;

constexpr std::string_view kHttpSentence =
    "This is the RPC port of dynolog, a telemetry daemon. It speaks length-framed JSON, not HTTP: "
    "use the command `dyno`. Metrics are not served on this port: the metrics options in "
    "`dynolog --help` say where they are.\n";

std::string http_refusal() {
  return fmt::format(
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      kHttpSentence.size(), kHttpSentence);
}

enum class State : std::uint8_t {
  reading,    // waits for a whole request
  working,    // a request is being resolved or run
  following,  // frames go out; read only for the end
  replying,   // the reply is on its way out
  draining,   // the last reply is out, the peer's rest is dropped
  closed,
};

class SocketConnection final : public Connection,
                               public std::enable_shared_from_this<SocketConnection> {
 public:
  SocketConnection(ConnectionContext& context, std::uint64_t id, UniqueFd socket,
                   Transport transport)
      : context_(context),
        id_(id),
        transport_(transport),
        accepted_at_(since_boot()),
        accepted_(std::move(socket)),
        socket_(context.loop.context()),
        timer_(context.loop.context()) {}

  void start() override {
    extend(context_.options.idle_time);
    readable();  // a hasty client's request is here already
  }
  void idle_time_changed() override {
    if (state_ == State::reading && !request_begun_) extend(context_.options.idle_time);
  }
  void close_with(const ErrorReply& error) override;
  void abandon() override;
  std::optional<Uid> uid_for_limits() override;

  // From the responder of request number `serial`; others are late and count for nothing.
  void answer(std::uint64_t serial, std::string json);
  void answer_failed(std::uint64_t serial, std::string json);
  void refuse(std::uint64_t serial, const ErrorReply& error);
  void stream(std::uint64_t serial, std::string json, bool last);
  void keep(std::uint64_t serial, std::unique_ptr<TraceService::Following> following);

 private:
  [[nodiscard]] int fd() { return accepted_.valid() ? accepted_.get() : socket_.native_handle(); }
  [[nodiscard]] Accepted whole() {
    return {.socket = fd(), .transport = transport_, .at = accepted_at_};
  }
  [[nodiscard]] ReceiveWatchdog* watchdog() const {
    return transport_ == Transport::unix_socket ? context_.watchdog.get() : nullptr;
  }
  [[nodiscard]] ssize_t receive(bool& descriptors);
  [[nodiscard]] bool enter_loop();

  void wait_readable();
  void readable();
  void received(std::string_view bytes);
  void received_end();
  void next_request();
  void unreadable(const Error& error);
  void run(std::string text);
  void identify(const Method& method, std::string text);
  void identified(const Method& method, const std::string& text, const PeerProof& proof,
                  const Result<Caller>& caller);
  void run_method(const Method& method, std::string_view text, const Caller& caller);

  void reply(std::string bytes);
  void refuse_and_end(const ErrorReply& error);
  [[nodiscard]] bool send(std::string bytes);
  void wait_writable();
  void writable();
  void replied();
  void drain();
  [[nodiscard]] bool peer_is_gone();
  void count_unread();

  void extend(std::chrono::milliseconds from_now);
  void set_deadline(SteadyTime deadline);
  void arm_timer();
  void deadline_passed();
  void end_following();
  void close();

  ConnectionContext& context_;
  std::uint64_t id_;
  Transport transport_;
  Nanoseconds accepted_at_;
  // The socket is the loop's, and has a timer, only once it has to be waited for: most calls need
  // neither. Then it moves from the one to the other.
  UniqueFd accepted_;
  asio::generic::stream_protocol::socket socket_;
  asio::steady_timer timer_;
  SteadyTime deadline_ = kNever;
  SteadyTime armed_for_ = kNever;
  State state_ = State::reading;
  bool end_after_reply_ = false;
  bool drain_at_end_ = false;
  bool reading_ = false;        // a wait for readability is under way
  bool request_begun_ = false;  // part of a request is here, its deadline is set
  std::size_t drained_ = 0;
  std::uint64_t serial_ = 0;
  FrameDecoder decoder_{kMaxRequestBytes};
  std::string out_;
  std::size_t out_sent_ = 0;
  std::optional<Caller> unix_caller_;  // its credentials are those of connect(), for good
  std::optional<std::optional<Uid>> uid_for_limits_;
  std::unique_ptr<TraceService::Following> following_;
};

// Outlives the connection where a service answers late.
class ConnectionResponder final : public Responder {
 public:
  ConnectionResponder(std::weak_ptr<SocketConnection> connection, std::uint64_t serial)
      : connection_(std::move(connection)), serial_(serial) {}
  void answer(std::string json) override {
    if (const auto connection = connection_.lock()) connection->answer(serial_, std::move(json));
  }
  void answer_failed(std::string json) override {
    if (const auto connection = connection_.lock()) {
      connection->answer_failed(serial_, std::move(json));
    }
  }
  void refuse(const ErrorReply& error) override {
    if (const auto connection = connection_.lock()) connection->refuse(serial_, error);
  }
  void stream(std::string json, bool last) override {
    if (const auto connection = connection_.lock()) {
      connection->stream(serial_, std::move(json), last);
    }
  }
  void keep(std::unique_ptr<TraceService::Following> following) override {
    if (const auto connection = connection_.lock()) {
      connection->keep(serial_, std::move(following));
    }
  }

 private:
  std::weak_ptr<SocketConnection> connection_;
  std::uint64_t serial_;
};

// --- reading
// --------------------------------------------------------------------------------------

// False when epoll does not take the socket: then the connection is closed.
bool SocketConnection::enter_loop() {
  if (!accepted_.valid()) return true;
  const int family = transport_ == Transport::unix_socket ? AF_UNIX : AF_INET;
  error_code error;
  socket_.assign(asio::generic::stream_protocol(family, 0), accepted_.get(), error);
  if (error) {
    close();
    return false;
  }
  static_cast<void>(accepted_.release());
  arm_timer();
  return true;
}

void SocketConnection::wait_readable() {
  if (reading_ || !enter_loop()) return;
  reading_ = true;
  socket_.async_wait(asio::socket_base::wait_read, [self = shared_from_this()](error_code error) {
    self->reading_ = false;
    if (self->state_ == State::closed) return;
    if (error) return self->close();
    self->readable();
  });
}

// Descriptors that come along are never taken: the kernel drops them and says so.
ssize_t SocketConnection::receive(bool& descriptors) {
  iovec piece{context_.scratch.data(), context_.scratch.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  const WatchedScope watched(watchdog());
  const auto size = ::recvmsg(fd(), &message, MSG_DONTWAIT);
  descriptors = size >= 0 && (message.msg_flags & MSG_CTRUNC) != 0;
  return size;
}

void SocketConnection::readable() {
  // A wait that began while following may end while the last reply is still on its way out.
  if (state_ == State::working || state_ == State::replying) return;
  bool descriptors = false;
  const auto size = receive(descriptors);
  if (descriptors) {
    ++context_.counters.malformed;
    return close();
  }
  if (size > 0) return received({context_.scratch.data(), static_cast<std::size_t>(size)});
  if (size == 0) return received_end();
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return wait_readable();
  // Closing a socket that holds unread bytes resets the connection.
  if (errno == ECONNRESET || errno == EPIPE) count_unread();
  close();
}

void SocketConnection::received(std::string_view bytes) {
  switch (state_) {
    case State::reading:
      decoder_.append(bytes);
      return next_request();
    case State::following:
      return refuse_and_end({"bad_request",
                             "this connection follows a trace and takes no further requests until "
                             "its last frame: use another connection"});
    case State::draining:
      drained_ += bytes.size();
      if (drained_ > kDrainBytes) return close();
      return wait_readable();
    case State::working:
    case State::replying:
    case State::closed:
      return;  // not read in these
  }
}

void SocketConnection::received_end() {
  if (state_ == State::reading && decoder_.partial()) ++context_.counters.malformed;
  if (peer_is_gone()) count_unread();
  close();
}

void SocketConnection::next_request() {
  auto frame = decoder_.next();
  if (!frame) return unreadable(frame.error());
  if (!*frame) {
    // A request is under way from its first byte on, and has to become whole in time.
    if (decoder_.partial() && !std::exchange(request_begun_, true)) {
      extend(context_.options.request_time);
    }
    return wait_readable();
  }
  run(std::move(**frame));
}

void SocketConnection::unreadable(const Error& error) {
  if (decoder_.looks_like_http()) {
    ++context_.counters.http;
    end_after_reply_ = true;
    drain_at_end_ = true;
    return reply(http_refusal());
  }
  ++context_.counters.malformed;
  refuse_and_end({"bad_request", error.message});
}

// --- running
// --------------------------------------------------------------------------------------

void SocketConnection::run(std::string text) {
  state_ = State::working;
  request_begun_ = false;
  ++serial_;
  ++context_.counters.requests;
  extend(context_.options.idle_time);
  const auto fn = decode_fn(text);
  if (!fn) {
    ++context_.counters.malformed;
    return refuse_and_end({"bad_request", fn.error().message});
  }
  const Method* method = find_method(*fn);
  if (method == nullptr) {
    return refuse_and_end(
        {"unknown_method", fmt::format("this daemon has no call named \"{}\"; it may be older "
                                       "than the program that asked",
                                       clean_text(*fn, 64))});
  }
  end_after_reply_ = method->after == AfterReply::close;
  if (method->identity == Identity::not_needed) return run_method(*method, text, Caller{});
  identify(*method, std::move(text));
}

void SocketConnection::identify(const Method& method, std::string text) {
  auto proof = peer_proof(whole(), context_.options);
  if (!proof) {
    ++context_.counters.not_identified;
    return refuse(serial_, identity_error(proof.error()));
  }
  if (!enter_loop()) return;  // the answer may be late, and then there is a deadline
  const auto kept = std::make_shared<const PeerProof>(std::move(*proof));
  if (unix_caller_) return identified(method, text, *kept, *unix_caller_);
  auto done = [weak = weak_from_this(), serial = serial_, &method, kept,
               text = std::move(text)](const Result<Caller>& caller) {
    const auto self = weak.lock();
    if (!self || self->serial_ != serial || self->state_ != State::working) return;
    self->identified(method, text, *kept, caller);
  };
  resolve(context_.resolver, *kept, std::move(done));
}

void SocketConnection::identified(const Method& method, const std::string& text,
                                  const PeerProof& proof, const Result<Caller>& caller) {
  Status known;
  if (caller) {
    known = confirm(whole(), proof, *caller, context_.options);
  } else {
    known = std::unexpected(caller.error());
  }
  if (!known) {
    ++context_.counters.not_identified;
    return refuse(serial_, identity_error(known.error()));
  }
  if (transport_ == Transport::unix_socket && !unix_caller_) unix_caller_ = *caller;
  const Caller named = *caller;
  run_method(method, text, named);
}

void SocketConnection::run_method(const Method& method, std::string_view text,
                                  const Caller& caller) {
  method.run(
      Request{.text = text,
              .caller = caller,
              .services = context_.services,
              .metrics = context_.metrics,
              .responder = std::make_shared<ConnectionResponder>(weak_from_this(), serial_)});
}

// --- answering
// ------------------------------------------------------------------------------------

void SocketConnection::answer(std::uint64_t serial, std::string json) {
  if (serial != serial_ || state_ != State::working) return;
  if (json.size() > kMaxReplyBytes) {
    return refuse(serial, {"exhausted", "the reply is too large to be sent"});
  }
  reply(encode_frame(json));
}

void SocketConnection::answer_failed(std::uint64_t serial, std::string json) {
  if (serial != serial_ || state_ != State::working) return;
  ++context_.counters.errors;
  reply(encode_frame(json));
}

void SocketConnection::refuse(std::uint64_t serial, const ErrorReply& error) {
  if (serial != serial_ || (state_ != State::working && state_ != State::following)) return;
  ++context_.counters.errors;
  reply(encode_frame(encode(error)));
}

void SocketConnection::stream(std::uint64_t serial, std::string json, bool last) {
  if (serial != serial_ || (state_ != State::working && state_ != State::following)) return;
  if (out_.size() - out_sent_ + json.size() > kMaxStreamBacklog) return close();
  if (last) return reply(encode_frame(json));
  if (state_ == State::working) {
    state_ = State::following;
    set_deadline(kNever);
    wait_readable();
  }
  if (send(encode_frame(json)) && !out_.empty() && deadline_ == kNever) {
    extend(context_.options.request_time);  // it has to be read some day
  }
}

void SocketConnection::keep(std::uint64_t serial,
                            std::unique_ptr<TraceService::Following> following) {
  if (serial != serial_) return;
  if (state_ == State::working) {  // nothing was streamed yet
    state_ = State::following;
    set_deadline(kNever);
    wait_readable();
  }
  following_ = std::move(following);
  if (state_ != State::following) end_following();  // its last frame came at once
}

void SocketConnection::refuse_and_end(const ErrorReply& error) {
  ++context_.counters.errors;
  end_after_reply_ = true;
  drain_at_end_ = true;
  reply(encode_frame(encode(error)));
}

// The last bytes of a request's answer.
void SocketConnection::reply(std::string bytes) {
  end_following();
  state_ = State::replying;
  if (!send(std::move(bytes))) return;
  if (out_.empty()) return replied();
  extend(context_.options.request_time);
}

// False when the connection is closed now.
bool SocketConnection::send(std::string bytes) {
  if (!out_.empty()) {
    out_.append(bytes);
    return true;
  }
  const auto sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    count_unread();
    close();
    return false;
  }
  const std::size_t done = sent > 0 ? static_cast<std::size_t>(sent) : 0;
  if (done == bytes.size()) return true;
  out_ = std::move(bytes);
  out_sent_ = done;
  wait_writable();
  return state_ != State::closed;
}

void SocketConnection::wait_writable() {
  if (!enter_loop()) return;
  socket_.async_wait(asio::socket_base::wait_write, [self = shared_from_this()](error_code error) {
    if (self->state_ == State::closed) return;
    if (error) return self->close();
    self->writable();
  });
}

void SocketConnection::writable() {
  const auto sent =
      ::send(fd(), out_.data() + out_sent_, out_.size() - out_sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    count_unread();
    return close();
  }
  if (sent > 0) {
    out_sent_ += static_cast<std::size_t>(sent);
    extend(context_.options.request_time);
  }
  if (out_sent_ < out_.size()) return wait_writable();
  std::string().swap(out_);  // a large reply's memory is not kept
  out_sent_ = 0;
  if (state_ == State::replying) return replied();
  set_deadline(kNever);  // following
}

void SocketConnection::replied() {
  if (end_after_reply_) {
    if (drain_at_end_) return drain();
    if (peer_is_gone()) count_unread();
    return close();
  }
  state_ = State::reading;
  extend(context_.options.idle_time);
  if (!decoder_.partial()) return wait_readable();
  // The next request is here already: others get their turn first.
  asio::post(context_.loop.context(), [self = shared_from_this()] {
    if (self->state_ == State::reading) self->next_request();
  });
}

// A TCP socket takes the bytes for a peer that has closed, and learns of it from what comes back:
// on this host before send() returns.
bool SocketConnection::peer_is_gone() {
  if (transport_ == Transport::unix_socket) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0;
}

// Who follows a trace may go at any time.
void SocketConnection::count_unread() {
  const bool replied_before = state_ == State::reading && serial_ > 0;
  if (replied_before || state_ == State::replying || state_ == State::draining) {
    ++context_.counters.reply_unread;
  }
}

void SocketConnection::drain() {
  state_ = State::draining;
  ::shutdown(fd(), SHUT_WR);
  extend(kDrainTime);
  wait_readable();
}

// --- time
// -----------------------------------------------------------------------------------------

void SocketConnection::extend(std::chrono::milliseconds from_now) {
  set_deadline(std::chrono::steady_clock::now() + from_now);
}

// A deadline that moves away leaves the timer as it is: a request costs no timer operation then.
void SocketConnection::set_deadline(SteadyTime deadline) {
  deadline_ = deadline;
  if (!accepted_.valid() && deadline_ < armed_for_) arm_timer();
}

void SocketConnection::arm_timer() {
  armed_for_ = deadline_;
  if (deadline_ == kNever) return;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error || self->state_ == State::closed) return;
    if (std::chrono::steady_clock::now() >= self->deadline_) return self->deadline_passed();
    self->arm_timer();
  });
}

void SocketConnection::deadline_passed() {
  armed_for_ = kNever;
  ++context_.counters.timed_out;
  if (state_ == State::reading && decoder_.partial()) {
    return refuse_and_end({"timed_out", "the request did not become complete in time"});
  }
  if (state_ == State::working) {
    return refuse_and_end({"timed_out", "the daemon could not answer in time"});
  }
  close();  // idle, does not read its replies, or does not close
}

// --- the end
// --------------------------------------------------------------------------------------

// Not at once: this may run inside the following's own callback.
void SocketConnection::end_following() {
  if (!following_) return;
  context_.ended_followings->push_back(std::move(following_));
  if (context_.ended_followings->size() > 1) return;  // a clearing is on its way already
  std::weak_ptr weak = context_.ended_followings;
  context_.loop.post([weak] {
    const auto ended = weak.lock();
    if (!ended) return;
    const auto cleared = std::exchange(*ended, {});
  });
}

void SocketConnection::close() {
  if (state_ == State::closed) return;
  end_following();
  abandon();
  context_.closed(id_);
}

void SocketConnection::abandon() {
  state_ = State::closed;
  ++serial_;
  following_.reset();
  timer_.cancel();
  const WatchedScope watched(watchdog());  // of what was not read
  accepted_.reset();
  error_code ignored;
  socket_.close(ignored);
}

void SocketConnection::close_with(const ErrorReply& error) {
  if (state_ == State::closed) return;
  if (out_.empty()) {
    const std::string frame = encode_frame(encode(error));
    ::send(fd(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    // Bytes left unread would make the close a reset, which destroys the frame.
    bool ignored = false;
    static_cast<void>(receive(ignored));
  }
  close();
}

std::optional<Uid> SocketConnection::uid_for_limits() {
  if (uid_for_limits_) return *uid_for_limits_;
  std::optional<Uid> uid;
  if (transport_ == Transport::unix_socket) {
    uid = accountable_peer(whole(), context_.options);
  } else if (transport_ == Transport::loopback_tcp) {
    // A socket's uid can be forged in a container: what it says may limit, but never exempt.
    const auto peer = loopback_tcp_peer(fd());
    if (peer && peer->uid != kRootUid && peer->uid != Uid{::geteuid()}) uid = peer->uid;
  }
  uid_for_limits_ = uid;
  return uid;
}

}  // namespace

std::shared_ptr<Connection> Connection::open(ConnectionContext& context, std::uint64_t id,
                                             UniqueFd socket, Transport transport) {
  return std::make_shared<SocketConnection>(context, id, std::move(socket), transport);
}

void turn_away(UniqueFd socket, const ErrorReply& error) {
  const std::string frame = encode_frame(encode(error));
  ::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  std::array<char, 4096> rest;
  ::recv(socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
}

}  // namespace dynolog::rpc
