// Child processes: posix_spawn, a SOCK_SEQPACKET channel, and a pidfd for the end.
#include "net/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/portable_layout.h"
#include "base/unique_fd.h"

namespace dynolog {
namespace {

namespace asio = boost::asio;

// A flooding child gets this much of the loop's attention at a time.
constexpr int kFramesPerWakeUp = 64;
// What a dead child may have left in its socket's buffer; its descendants may still be writing.
constexpr int kFramesAfterEnd = 4096;
constexpr int kChannelBuffer = 256 << 10;
constexpr const char* kOwnProgram = "/proc/self/exe";

int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

void kill_pidfd(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

// nullopt while the child runs.
std::optional<ChildProcess::Exit> reap(int pidfd) {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG);
  } while (result != 0 && errno == EINTR);
  // ECHILD: somebody ignores SIGCHLD, so nobody will ever tell.
  if (result != 0) return ChildProcess::Exit{.signalled = false, .code = 0};
  if (info.si_pid == 0) return std::nullopt;
  return ChildProcess::Exit{.signalled = info.si_code != CLD_EXITED, .code = info.si_status};
}

void forget_unreaped(Children& children, const std::string& account) {
  const auto count = children.unreaped.find(account);
  if (count != children.unreaped.end() && --count->second == 0) children.unreaped.erase(count);
}

// Waits in the loop for a child that nobody owns any more.
void reap_later(EventLoop& loop, UniqueFd pidfd, const std::string& account) {
  auto source = std::make_shared<asio::posix::stream_descriptor>(loop.context());
  boost::system::error_code error;
  source->assign(pidfd.get(), error);
  if (error) return;
  static_cast<void>(pidfd.release());
  const auto children = loop.children();
  ++children->unreaped[account];
  source->async_wait(asio::posix::stream_descriptor::wait_read,
                     [source, children, account](boost::system::error_code failed) {
                       forget_unreaped(*children, account);
                       if (!failed) static_cast<void>(reap(source->native_handle()));
                     });
}

// The account's, or those of all accounts where these are too many; 0: no matter.
std::size_t too_many_unreaped(const Children& children, const std::string& account) {
  const auto own = children.unreaped.find(account);
  const std::size_t of_account = own == children.unreaped.end() ? 0 : own->second;
  if (account.empty()) return of_account >= kMaxUnreapedChildren ? of_account : 0;
  if (of_account >= kMaxUnreapedOfAccount) return of_account;
  std::size_t all = 0;
  for (const auto& [name, count] : children.unreaped) {
    if (!name.empty()) all += count;
  }
  return all >= kMaxUnreapedChildren ? all : 0;
}

struct Channel {
  UniqueFd parent;
  UniqueFd child;
};

Result<Channel> make_channel() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno(errno, "making a worker's channel");
  }
  Channel channel{UniqueFd(ends[0]), UniqueFd(ends[1])};
  for (const int end : ends) {
    ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kChannelBuffer, sizeof kChannelBuffer);
  }
#ifndef SO_PASSRIGHTS
  constexpr int SO_PASSRIGHTS = 83;
#endif
  // A descriptor in a message could block even a non-blocking receive (kernels before 6.16 do not
  // know the option; there the worker's code is trusted not to send any).
  const int off = 0;
  ::setsockopt(channel.parent.get(), SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
  return channel;
}

// posix_spawn's two parameter objects, with their ends.
class SpawnSettings {
 public:
  explicit SpawnSettings(int channel) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, channel, kWorkerChannelFd);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kWorkerChannelFd + 1);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    // A process group of its own: Ctrl-C at a terminal is for the daemon, which then ends its
    // workers.
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Ours without what the service manager told us, which is not for workers.
std::vector<char*> worker_environment() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool ours = text.starts_with("NOTIFY_SOCKET=") || text.starts_with("WATCHDOG_") ||
                      text.starts_with("LISTEN_") || text.starts_with("FDSTORE=");
    if (!ours) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

// What is started for `executable`. A program that a loader of its own runs (the tarball, on a host
// with an old C library) is not what /proc/self/exe shows: its launcher starts it again.
std::string path_to_start(const std::string& executable) {
  if (executable != kOwnProgram) return executable;
  char shown[PATH_MAX];
  const ssize_t length = ::readlink(kOwnProgram, shown, sizeof shown);
  if (length <= 0) return executable;
  const std::string_view path(shown, static_cast<std::size_t>(length));
  if (!is_portable_loader(path)) return executable;
  // The program that the loader was given; argv[0] is whatever the user typed.
  const std::string_view program = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return portable_launcher(path, program.substr(program.rfind('/') + 1));
}

Result<pid_t> spawn(const ChildOptions& options, int channel) {
  const std::string path = path_to_start(options.executable);
  std::vector<std::string> words;
  // "exe" would tell a reader of `ps` nothing.
  words.push_back(options.executable == kOwnProgram ? program_invocation_name : options.executable);
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const SpawnSettings settings(channel);
  const std::vector<char*> variables = worker_environment();
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path.c_str(), settings.actions(), settings.attributes(),
                                  argv.data(), variables.data());
  if (error != 0) return fail_errno(error, "starting " + path);
  if (options.nice != 0) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), options.nice);
  }
  return pid;
}

class SpawnedChild final : public ChildProcess {
 public:
  SpawnedChild(EventLoop& loop, Log& log, std::string name, std::string account, pid_t pid,
               UniqueFd pidfd, UniqueFd channel, OnFrame on_frame, OnExit on_exit)
      : loop_(loop),
        children_(loop.children()),
        log_(log),
        name_(std::move(name)),
        account_(std::move(account)),
        pid_(pid),
        pidfd_(std::move(pidfd)),
        channel_(std::move(channel)),
        on_frame_(std::make_shared<const OnFrame>(std::move(on_frame))),
        on_exit_(std::move(on_exit)),
        buffer_(std::make_unique_for_overwrite<char[]>(kMaxWorkerFrame)) {
    ++children_->owned;
    exit_watch_ = loop_.watch_readable(pidfd_.get(), [this] { ended(); });
    channel_watch_ = loop_.watch_readable(channel_.get(), [this] { drain(kFramesPerWakeUp); });
  }

  ~SpawnedChild() override {
    *alive_ = false;
    close_channel();
    exit_watch_ = Watch();
    if (!pidfd_.valid()) return;
    --children_->owned;
    kill_pidfd(pidfd_.get());
    if (!reap(pidfd_.get())) reap_later(loop_, std::move(pidfd_), account_);
  }

  Status send(std::string_view frame) override {
    if (!channel_.valid()) return fail(ErrorKind::not_found, name_ + " has ended");
    if (frame.empty() || frame.size() > kMaxWorkerFrame) {
      return fail(ErrorKind::invalid, "a frame to " + name_ + " is empty or too large");
    }
    const auto sent =
        ::send(channel_.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(frame.size())) return {};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      return fail(ErrorKind::exhausted, name_ + " does not read");
    }
    return fail_errno(errno, "sending to " + name_);
  }

  pid_t pid() const override { return pid_; }

 private:
  void close_channel() {
    channel_watch_ = Watch();
    channel_.reset();
  }

  // False when there is nothing more now, or the object is gone.
  bool take_one() {
    iovec piece{buffer_.get(), kMaxWorkerFrame};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    const auto size = ::recvmsg(channel_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) return true;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (size <= 0) {  // closed (an empty packet, which is no frame, looks the same)
      drop("closed its channel", LogLevel::debug);
      return false;
    }
    if ((message.msg_flags & MSG_TRUNC) != 0) {
      drop("sent a frame above the limit", LogLevel::warning);
      return false;
    }
    const auto alive = alive_;
    const auto on_frame = on_frame_;
    (*on_frame)({buffer_.get(), static_cast<std::size_t>(size)});
    return *alive && channel_.valid();
  }

  // False when the object is gone.
  bool drain(int limit) {
    const auto alive = alive_;
    while (limit-- > 0 && take_one()) {
    }
    return *alive;
  }

  // Nothing that it says counts any more; its end is then seen through the pidfd.
  void drop(std::string_view why, LogLevel level) {
    log_.write(level, fmt::format("{} (pid {}) {}", name_, pid_, why));
    close_channel();
    kill_pidfd(pidfd_.get());
  }

  void ended() {
    if (channel_.valid() && !drain(kFramesAfterEnd)) return;
    const auto exit = reap(pidfd_.get());
    if (!exit) return;
    close_channel();
    exit_watch_ = Watch();
    pidfd_.reset();
    --children_->owned;
    const OnExit on_exit = std::move(on_exit_);
    on_exit(*exit);  // may destroy this object
  }

  EventLoop& loop_;
  std::shared_ptr<Children> children_;
  Log& log_;
  std::string name_;
  std::string account_;
  pid_t pid_;
  UniqueFd pidfd_;
  UniqueFd channel_;
  std::shared_ptr<const OnFrame> on_frame_;  // shared: it may destroy this object
  OnExit on_exit_;
  std::unique_ptr<char[]> buffer_;  // untouched pages cost nothing
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Watch exit_watch_;
  Watch channel_watch_;
};

std::string name_of(const ChildOptions& options) {
  return options.arguments.empty() ? options.executable : "worker " + options.arguments.front();
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(EventLoop& loop, Log& log,
                                                          const ChildOptions& options,
                                                          OnFrame on_frame, OnExit on_exit) {
  if (const std::size_t stuck = too_many_unreaped(*loop.children(), options.account); stuck > 0) {
    return fail(ErrorKind::exhausted,
                fmt::format("{} workers that were given up have not ended yet (stuck on a hung "
                            "mount?): {} is not started",
                            stuck, name_of(options)));
  }
  auto channel = make_channel();
  if (!channel) return std::unexpected(channel.error());
  const auto pid = spawn(options, channel->child.get());
  if (!pid) return std::unexpected(pid.error());
  UniqueFd pidfd(pidfd_open(*pid));
  if (!pidfd.valid()) {
    const int error = errno;
    ::kill(*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    return fail_errno(error, "opening a pidfd of " + name_of(options));
  }
  return std::make_unique<SpawnedChild>(loop, log, name_of(options), options.account, *pid,
                                        std::move(pidfd), std::move(channel->parent),
                                        std::move(on_frame), std::move(on_exit));
}

bool receive_frame(int channel, std::string& frame) {
  frame.resize(kMaxWorkerFrame);
  ssize_t size = 0;
  do {
    size = ::recv(channel, frame.data(), frame.size(), 0);
  } while (size < 0 && errno == EINTR);
  frame.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return size > 0;
}

Status send_frame(int channel, std::string_view frame) {
  if (frame.empty() || frame.size() > kMaxWorkerFrame) {
    return fail(ErrorKind::invalid, "a frame to the daemon is empty or too large");
  }
  ssize_t sent = 0;
  do {
    sent = ::send(channel, frame.data(), frame.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno(errno, "sending to the daemon");
  return {};
}

}  // namespace dynolog
