// Time as an argument: monotonic for ages and deadlines, wall only to stamp and to align.
#pragma once

#include <chrono>

namespace dynolog {

using Nanoseconds = std::chrono::nanoseconds;
using Milliseconds = std::chrono::milliseconds;
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Nanoseconds>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Nanoseconds>;

// Safe to call from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual MonotonicTime monotonic() const = 0;  // CLOCK_MONOTONIC
  [[nodiscard]] virtual WallTime wall() const = 0;            // CLOCK_REALTIME
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime monotonic() const override;
  [[nodiscard]] WallTime wall() const override;
};

// Milliseconds since the epoch, as Kineto's PROFILE_START_TIME wants it.
[[nodiscard]] constexpr long long epoch_milliseconds(WallTime time) {
  return std::chrono::duration_cast<Milliseconds>(time.time_since_epoch()).count();
}

}  // namespace dynolog
