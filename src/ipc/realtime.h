// Real-time priority for the calling thread, while it stays modest.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace dynolog {

// A thread that is flooded would, at SCHED_RR, take a core from the trainer that it is to protect.
// Above 5 % of a core over two seconds it steps back to normal priority, and returns after 60 quiet
// seconds. Belongs to one thread.
class RealtimePriority {
 public:
  enum class Change { none, taken, refused, left };

  // `set` takes real-time priority for the calling thread, or gives it up; false: not permitted.
  RealtimePriority(bool wanted, std::function<bool(bool realtime)> set)
      : wanted_(wanted), set_(std::move(set)) {}

  // At the start of the thread. `used` is the thread's own CPU time so far.
  [[nodiscard]] Change begin(MonotonicTime now, Nanoseconds used);
  // At each turn of the thread's loop.
  [[nodiscard]] Change on_turn(MonotonicTime now, Nanoseconds used);
  // When on_turn() should be called at the latest.
  [[nodiscard]] std::optional<MonotonicTime> next_due() const;

  static constexpr Nanoseconds kWindow = std::chrono::seconds(2);
  static constexpr Nanoseconds kQuiet = std::chrono::seconds(60);
  static constexpr Nanoseconds kAllowance = kWindow / 20;  // 5 % of a core

 private:
  bool wanted_;
  std::function<bool(bool)> set_;
  bool realtime_ = false;
  bool left_ = false;
  MonotonicTime window_start_;
  Nanoseconds used_at_start_{};
  MonotonicTime quiet_since_;
};

// SCHED_RR at the lowest priority for the calling thread, kept off its children; or none.
[[nodiscard]] bool set_realtime(bool realtime);

// CPU time of the calling thread.
[[nodiscard]] Nanoseconds thread_cpu_time();

}  // namespace dynolog
