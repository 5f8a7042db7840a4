// A child process of the daemon with one channel of frames: what can hang or crash runs in these.
//
// The child is the daemon's own program, re-executed with `--worker=KIND`, with no descriptors but
// 0-2 and the channel (descriptor 3, an AF_UNIX SOCK_SEQPACKET socketpair; one packet is one
// frame). Its frames count as hostile input: bounded in size and rate, decoded by the receiver.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "net/event_loop.h"

namespace dynolog {

inline constexpr std::size_t kMaxWorkerFrame = 128U << 10U;
inline constexpr int kWorkerChannelFd = 3;
// With so many children of one account, or of all, stuck in the kernel no further one is started.
// The daemon's own account and the others do not count for each other.
inline constexpr std::size_t kMaxUnreapedOfAccount = 16;
inline constexpr std::size_t kMaxUnreapedChildren = 256;

struct ChildOptions {
  std::string executable;              // "/proc/self/exe" in the daemon, a test's own in tests
  std::vector<std::string> arguments;  // after argv[0], e.g. {"--worker=procs"}
  int nice = 0;
  std::string account{};  // for whom it works; "": for the daemon itself
};

class ChildProcess {
 public:
  struct Exit {
    bool signalled = false;
    int code = 0;  // exit status, or the signal's number
  };
  using OnFrame = std::function<void(std::string_view frame)>;
  using OnExit = std::function<void(Exit)>;

  // Both callbacks run on the loop's thread, and never after the object is destroyed. The parent
  // learns of the end through a pidfd and reaps the child.
  [[nodiscard]] static Result<std::unique_ptr<ChildProcess>> start(EventLoop& loop, Log& log,
                                                                   const ChildOptions& options,
                                                                   OnFrame on_frame,
                                                                   OnExit on_exit);
  // Closes the channel (a well-behaved worker ends then) and sends SIGKILL. A child that is stuck
  // in the kernel cannot be reaped now: its pidfd is handed to the loop, which reaps it if it ever
  // ends.
  virtual ~ChildProcess() = default;

  // Never blocks. An error when the child does not read (its socket buffer is full) or is gone.
  [[nodiscard]] virtual Status send(std::string_view frame) = 0;
  [[nodiscard]] virtual pid_t pid() const = 0;
};

// The worker's side. Blocks until a frame comes; false when the daemon closed the channel.
[[nodiscard]] bool receive_frame(int channel, std::string& frame);
// Blocks while the daemon does not read.
[[nodiscard]] Status send_frame(int channel, std::string_view frame);

}  // namespace dynolog
