// The sender's thread: a loop that connects, writes and reads until the peer ends.
#include "net/stream_sender.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/unique_fd.h"

namespace dynolog {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Descriptor = asio::posix::stream_descriptor;

// What a connection and its handlers share; handlers outlive it.
struct Connection {
  explicit Connection(asio::io_context& io) : descriptor(io) {}
  Descriptor descriptor;
  bool closed = false;
};

class ThreadedSender final : public StreamSender {
 public:
  ThreadedSender(StreamSenderOptions options, Log& log)
      : options_(std::move(options)),
        pause_(options_.first_pause),
        connector_(Connector::make(loop_, log, options_.executable)) {}
  ThreadedSender(const ThreadedSender&) = delete;
  ThreadedSender& operator=(const ThreadedSender&) = delete;

  ~ThreadedSender() override {
    loop_.post([this] {
      write_without_waiting();
      loop_.stop();
    });
    thread_.join();
    close();
  }

  void begin() {
    loop_.post([this] { connect(); });
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), options_.thread_name.substr(0, 15).c_str());
      loop_.run();
    });
  }

  void put(std::string message) override {
    {
      const std::scoped_lock lock(mutex_);
      queued_bytes_ += message.size();
      messages_.push_back(std::move(message));
      while (queued_bytes_ > options_.max_queued_bytes && !messages_.empty()) {
        queued_bytes_ -= messages_.front().size();
        messages_.pop_front();
        ++dropped_;
      }
    }
    if (waking_.exchange(true)) return;  // one wake-up for many messages
    loop_.post([this] {
      waking_ = false;
      pump();
    });
  }

  [[nodiscard]] StreamCounters counters() const override {
    const std::scoped_lock lock(mutex_);
    return {messages_.size(), dropped_, failures_};
  }

  [[nodiscard]] std::optional<Error> problem() const override {
    const std::scoped_lock lock(mutex_);
    return problem_;
  }

 private:
  // All below is on the thread.
  void connect() {
    connector_->connect(options_.to, options_.connect_time, [this](Result<UniqueFd> socket) {
      if (!socket) return failed(std::move(socket.error()));
      connected(std::move(*socket));
    });
  }

  void connected(UniqueFd socket) {
    const auto unanswered = static_cast<unsigned>(options_.unanswered_time.count());
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    connection_ = std::make_shared<Connection>(loop_.context());
    connection_->descriptor.assign(socket.release());
    written_ = 0;
    if (current_.empty()) set_problem(std::nullopt);
    watch_end(connection_);
    pump();
  }

  // A relay says nothing. What it says is read, so that its end is seen.
  void watch_end(const std::shared_ptr<Connection>& connection) {
    connection->descriptor.async_read_some(
        asio::buffer(said_), [this, connection](error_code error, std::size_t) {
          if (connection->closed) return;
          if (!error) return watch_end(connection);
          failed(fail(ErrorKind::failed, options_.to.text() + " closed the connection").error());
        });
  }

  void pump() {
    if (!connection_ || writing_ || !take_message()) return;
    writing_ = true;
    connection_->descriptor.async_wait(Descriptor::wait_write,
                                       [this, connection = connection_](error_code error) {
                                         if (connection->closed) return;
                                         writing_ = false;
                                         if (!error && write_some()) return pump();
                                         if (error || !is_would_block(errno))
                                           broken(error ? error.value() : errno);
                                         else
                                           pump();
                                       });
  }

  [[nodiscard]] static bool is_would_block(int error_number) {
    return error_number == EAGAIN || error_number == EINTR;
  }

  // False with errno when nothing could be written.
  bool write_some() {
    const std::string_view rest = std::string_view(current_).substr(written_);
    const ssize_t sent = ::send(connection_->descriptor.native_handle(), rest.data(), rest.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return false;
    written_ += static_cast<std::size_t>(sent);
    if (written_ < current_.size()) return true;
    current_.clear();
    pause_ = options_.first_pause;
    set_problem(std::nullopt);
    return true;
  }

  void write_without_waiting() {
    while (connection_ && take_message() && write_some()) {
    }
  }

  // True while there is one to write.
  bool take_message() {
    if (!current_.empty()) return true;
    const std::scoped_lock lock(mutex_);
    if (messages_.empty()) return false;
    current_ = std::move(messages_.front());
    messages_.pop_front();
    queued_bytes_ -= current_.size();
    written_ = 0;
    return true;
  }

  void broken(int error_number) {
    failed(fail_errno(error_number, "sending to " + options_.to.text()).error());
  }

  void failed(Error error) {
    close();
    {
      const std::scoped_lock lock(mutex_);
      ++failures_;
    }
    set_problem(std::move(error));
    retry_ = loop_.after(pause_, [this] { connect(); });
    pause_ = std::min(2 * pause_, options_.last_pause);
  }

  void close() {
    writing_ = false;
    written_ = 0;  // the next connection gets the message whole
    if (!connection_) return;
    connection_->closed = true;
    error_code ignored;
    connection_->descriptor.close(ignored);
    connection_.reset();
  }

  void set_problem(std::optional<Error> problem) {
    const std::scoped_lock lock(mutex_);
    problem_ = std::move(problem);
  }

  const StreamSenderOptions options_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::string> messages_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t failures_ = 0;
  std::optional<Error> problem_;

  std::atomic<bool> waking_ = false;

  // The thread's own.
  EventLoop loop_;
  std::chrono::milliseconds pause_;
  std::string current_;
  std::size_t written_ = 0;
  bool writing_ = false;
  std::array<char, 512> said_{};
  std::shared_ptr<Connection> connection_;
  Timer retry_;
  std::unique_ptr<Connector> connector_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<StreamSender> StreamSender::start(StreamSenderOptions options, Log& log) {
  auto sender = std::make_unique<ThreadedSender>(std::move(options), log);
  // The thread inherits the mask: signals are the main thread's.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  sender->begin();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return sender;
}

}  // namespace dynolog
