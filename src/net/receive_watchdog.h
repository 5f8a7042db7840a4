// Breaks a receive or a close that the kernel blocks although it was told not to.
//
// A descriptor that came along and was not taken is closed inside recvmsg, or with the socket it
// lies in, and closing a lingering TCP socket waits for it. Kernels before 6.16 cannot refuse
// descriptors; there a timer signals the receiving thread, and the wait ends.
#pragma once

#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/error.h"

namespace dynolog {

class ReceiveWatchdog {
 public:
  static constexpr Milliseconds kPatience{30};
  // For the calling thread, which must also be the one that destroys it. Takes SIGRTMAX-2's
  // handler in the process: a function that does nothing.
  [[nodiscard]] static Result<std::unique_ptr<ReceiveWatchdog>> start(
      Milliseconds patience = kPatience);
  ~ReceiveWatchdog();
  ReceiveWatchdog(const ReceiveWatchdog&) = delete;
  ReceiveWatchdog& operator=(const ReceiveWatchdog&) = delete;

  // Between these two, a signal comes whenever patience has passed.
  void arm();
  void disarm();

 private:
  ReceiveWatchdog(timer_t timer, Milliseconds patience) : timer_(timer), patience_(patience) {}
  void set(Nanoseconds period);

  timer_t timer_;
  Milliseconds patience_;
};

// Arms a watchdog for a scope; nullptr where none is needed.
class WatchedScope {
 public:
  explicit WatchedScope(ReceiveWatchdog* watchdog) : watchdog_(watchdog) {
    if (watchdog_ != nullptr) watchdog_->arm();
  }
  ~WatchedScope() {
    if (watchdog_ != nullptr) watchdog_->disarm();
  }
  WatchedScope(const WatchedScope&) = delete;
  WatchedScope& operator=(const WatchedScope&) = delete;

 private:
  ReceiveWatchdog* watchdog_;
};

}  // namespace dynolog
