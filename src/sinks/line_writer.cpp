// The writer's thread. Every write is one that cannot wait.
#include "sinks/line_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "sinks/rotating_file.h"

namespace dynolog {
namespace {

struct Output {
  UniqueFd own;                      // one of the two
  std::optional<RotatingFile> file;  // whose descriptor changes, between two lines
  bool is_socket = false;
  // Of one write. Small where the descriptor could not be made non-blocking: then poll(2) must have
  // said that there is room, and this much is taken without waiting.
  std::size_t max_write = 1U << 16U;
  [[nodiscard]] int fd() const { return file ? file->fd() : own.get(); }
};

constexpr std::size_t kCarefulWrite = 512;

ssize_t write_some(const Output& output, std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), output.max_write);
  if (output.is_socket) {
    return ::send(output.fd(), bytes.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  return ::write(output.fd(), bytes.data(), size);
}

class ThreadedLineWriter final : public LineWriter {
 public:
  ThreadedLineWriter(Output output, UniqueFd wake, std::size_t max_queued_bytes)
      : output_(std::move(output)),
        wake_(std::move(wake)),
        max_queued_bytes_(max_queued_bytes),
        thread_([this] { run(); }) {}

  ~ThreadedLineWriter() override {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
  }

  void put(std::string line) override {
    line += '\n';
    {
      const std::scoped_lock lock(mutex_);
      queued_bytes_ += line.size();
      lines_.push_back(std::move(line));
      while (queued_bytes_ > max_queued_bytes_ && !lines_.empty()) {
        queued_bytes_ -= lines_.front().size();
        lines_.pop_front();
        ++dropped_;
      }
    }
    wake();
  }

  [[nodiscard]] SinkQueue queue() const override {
    const std::scoped_lock lock(mutex_);
    return {lines_.size(), dropped_, failures_};
  }

  [[nodiscard]] std::optional<Error> problem() const override {
    const std::scoped_lock lock(mutex_);
    return error_;
  }

 private:
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof(one));
  }

  void run() {
    ::pthread_setname_np(::pthread_self(), "json lines");
    sigset_t all;
    ::sigfillset(&all);  // SIGPIPE included: a gone reader is an error of write(2)
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (true) {
      const bool has_line = take_line();
      if (!has_line && is_stopping()) return;
      pollfd watched[] = {{wake_.get(), POLLIN, 0}, {has_line ? output_.fd() : -1, POLLOUT, 0}};
      // When stopping: what fits now is written, and the rest is left.
      const int ready = ::poll(watched, 2, is_stopping() ? 0 : -1);
      if (ready < 0 && errno != EINTR) return note_errno(errno);
      if (watched[0].revents != 0) take_wake();
      if (watched[1].revents != 0) {
        if (!write_current() && is_stopping()) return;
      } else if (has_line && is_stopping()) {
        return;
      }
    }
  }

  // Moves the next line to the thread; true while there is one to write.
  bool take_line() {
    if (!current_.empty()) return true;
    {
      const std::scoped_lock lock(mutex_);
      if (lines_.empty()) return false;
      queued_bytes_ -= lines_.front().size();
      if (is_broken_) current_.push_back('\n');  // ends the line that failed half-way
      is_broken_ = false;
      current_ += lines_.front();
      lines_.pop_front();
    }
    written_ = 0;
    if (!output_.file) return true;
    auto prepared = output_.file->prepare(current_.size());
    is_prepared_ = prepared.has_value();
    if (!prepared) note_error(std::move(prepared.error()));
    return true;
  }

  // False when nothing could be written.
  bool write_current() {
    const ssize_t put = write_some(output_, std::string_view(current_).substr(written_));
    if (put < 0) {
      if (errno == EAGAIN || errno == EINTR) return false;
      note_errno(errno);
      // Also when what did not get out is the end of an earlier line's half.
      is_broken_ = written_ > 0 || current_.front() == '\n';
      current_.clear();
      return false;
    }
    written_ += static_cast<std::size_t>(put);
    if (written_ < current_.size()) return true;
    current_.clear();
    if (is_prepared_) {
      const std::scoped_lock lock(mutex_);
      error_.reset();
    }
    return true;
  }

  void note_errno(int error_number) {
    note_error(fail_errno(error_number, "writing a line").error());
  }

  void note_error(Error error) {
    const std::scoped_lock lock(mutex_);
    ++failures_;
    error_ = std::move(error);
  }

  void take_wake() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof(count));
  }

  [[nodiscard]] bool is_stopping() const {
    const std::scoped_lock lock(mutex_);
    return stopping_;
  }

  Output output_;  // the thread's own
  const UniqueFd wake_;
  const std::size_t max_queued_bytes_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::string> lines_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t failures_ = 0;
  std::optional<Error> error_;
  bool stopping_ = false;

  // The thread's own.
  std::string current_;
  std::size_t written_ = 0;
  bool is_broken_ = false;
  bool is_prepared_ = true;
  std::thread thread_;  // last: it uses all of the above
};

Result<std::unique_ptr<LineWriter>> start(Output output, std::size_t max_queued_bytes) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return fail_errno(errno, "eventfd");
  return std::make_unique<ThreadedLineWriter>(std::move(output), std::move(wake), max_queued_bytes);
}

}  // namespace

Result<std::unique_ptr<LineWriter>> LineWriter::to_file(const std::string& path,
                                                        FileRotation rotation,
                                                        std::size_t max_queued_bytes) {
  auto file = RotatingFile::open(path, rotation);
  if (!file) return std::unexpected(std::move(file.error()));
  Output output;
  output.file.emplace(std::move(*file));
  return start(std::move(output), max_queued_bytes);
}

Result<std::unique_ptr<LineWriter>> LineWriter::to_descriptor(int fd,
                                                              std::size_t max_queued_bytes) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, "standard output");
  Output output;
  output.is_socket = S_ISSOCK(status.st_mode);
  if (!output.is_socket && !S_ISREG(status.st_mode)) {
    // O_NONBLOCK belongs to the open file, which others share: this opens one of our own.
    output.own.reset(::open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                            O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!output.own.valid()) output.max_write = kCarefulWrite;
  }
  if (!output.own.valid()) output.own.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!output.own.valid()) return fail_errno(errno, "standard output");
  return start(std::move(output), max_queued_bytes);
}

}  // namespace dynolog
