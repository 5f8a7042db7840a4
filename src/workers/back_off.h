// How long to wait before a worker that ended is started again.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace dynolog {

// The first end costs nothing, each further one doubles the wait from 100 ms up to 30 s. A minute
// without one forgives all.
class BackOff {
 public:
  [[nodiscard]] Nanoseconds on_end(MonotonicTime now) {
    if (now - last_ > kForgive) wait_ = {};
    last_ = now;
    const Nanoseconds wait = wait_;
    wait_ = std::clamp(2 * wait_, kFirst, kMost);
    return wait;
  }

 private:
  static constexpr Nanoseconds kFirst = Milliseconds(100);
  static constexpr Nanoseconds kMost = std::chrono::seconds(30);
  static constexpr Nanoseconds kForgive = std::chrono::minutes(1);
  Nanoseconds wait_{};
  MonotonicTime last_;
};

}  // namespace dynolog
