// The real clocks.
#include "base/clock.h"

namespace dynolog {

MonotonicTime SystemClock::monotonic() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::wall() const { return std::chrono::system_clock::now(); }

}  // namespace dynolog
