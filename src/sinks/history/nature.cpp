// Increases of counters across blocks.
#include "sinks/history/nature.h"

namespace dynolog::history {

std::optional<Increase> RateTrack::take(double value, std::int64_t monotonic_us,
                                        std::uint64_t session, const CounterTraits& counter) {
  if (session != session_) before_.reset();
  session_ = session;
  Reading now{value, MonotonicTime(std::chrono::microseconds(monotonic_us))};
  const auto found = increase(before_, now, {.counter = counter});
  if (!found && found.error() == NoIncrease::no_time) return std::nullopt;
  // After noise the higher value remains the base, so that the sum of increases stays true.
  if (found && value < before_->value && before_->value - value <= counter.backward_slack) {
    now.value = before_->value;
  }
  before_ = now;
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace dynolog::history
