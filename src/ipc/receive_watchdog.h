// Breaks a recvmsg that the kernel blocks although it was told not to.
//
// A descriptor that came along and was not taken is closed inside recvmsg, and closing a lingering
// TCP socket waits for it. Kernels before 6.16 cannot refuse descriptors; there a timer signals the
// receiving thread, and the wait ends.
#pragma once

#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/error.h"

namespace dynolog {

class ReceiveWatchdog {
 public:
  // For the calling thread, which must also be the one that destroys it. Takes SIGRTMAX-2's
  // handler in the process: a function that does nothing.
  [[nodiscard]] static Result<std::unique_ptr<ReceiveWatchdog>> start();
  ~ReceiveWatchdog();
  ReceiveWatchdog(const ReceiveWatchdog&) = delete;
  ReceiveWatchdog& operator=(const ReceiveWatchdog&) = delete;

  // Between these two, a signal comes every kPatience.
  void arm();
  void disarm();

  static constexpr Milliseconds kPatience{30};

 private:
  explicit ReceiveWatchdog(timer_t timer) : timer_(timer) {}
  void set(Nanoseconds period);

  timer_t timer_;
};

}  // namespace dynolog
