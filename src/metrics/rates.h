// From two readings of a cumulative counter to its increase. Pure: every sink that wants rates or
// per-interval values uses this one.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "metrics/descriptor.h"

namespace dynolog {

struct Reading {
  double value = 0;
  MonotonicTime time{};  // monotonic, so that setting the host's clock changes no rate
};

struct Increase {
  double amount = 0;                        // never negative
  std::chrono::duration<double> elapsed{};  // always positive
  [[nodiscard]] double per_second() const { return amount / elapsed.count(); }
};

enum class NoIncrease : std::uint8_t {
  first,    // nothing to compare with: a new device, or one that came back
  reset,    // the counter went down: the device or driver started anew
  no_time,  // the same instant, or an earlier one
  gap,      // too long ago to speak of an interval: the daemon was stopped
};
[[nodiscard]] std::string_view to_string(NoIncrease reason);

struct RateRules {
  CounterTraits counter{};
  Nanoseconds shortest = Milliseconds(1);
  Nanoseconds longest = std::chrono::minutes(10);
};

// A counter of N bits that went down has wrapped when that is the nearer explanation: when the
// wrapped increase is under half its range. Otherwise it was reset, and that interval has no value.
// A step back of at most `counter.backward_slack` is an increase of 0.
[[nodiscard]] std::expected<Increase, NoIncrease> increase(const std::optional<Reading>& before,
                                                           const Reading& now,
                                                           const RateRules& rules);

}  // namespace dynolog
