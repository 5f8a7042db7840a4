// A clock that only moves when a test says so.
#pragma once

#include <mutex>

#include "base/clock.h"

namespace dynolog {

class FakeClock final : public Clock {
 public:
  FakeClock() = default;
  FakeClock(MonotonicTime monotonic, WallTime wall) : monotonic_(monotonic), wall_(wall) {}

  [[nodiscard]] MonotonicTime monotonic() const override {
    const std::scoped_lock lock(mutex_);
    return monotonic_;
  }
  [[nodiscard]] WallTime wall() const override {
    const std::scoped_lock lock(mutex_);
    return wall_;
  }

  // Time passes: both clocks move.
  void advance(Nanoseconds by) {
    const std::scoped_lock lock(mutex_);
    monotonic_ += by;
    wall_ += by;
  }
  // Somebody sets the clock: only the wall clock jumps.
  void set_wall(WallTime wall) {
    const std::scoped_lock lock(mutex_);
    wall_ = wall;
  }

 private:
  mutable std::mutex mutex_;
  MonotonicTime monotonic_{std::chrono::seconds(1000)};
  WallTime wall_{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
};

}  // namespace dynolog
