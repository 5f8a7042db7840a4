// What has to be known of a metric to make sense of its stored values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "metrics/descriptor.h"
#include "metrics/rates.h"
#include "sinks/history/block.h"

namespace dynolog::history {

// Series of metrics that this version no longer knows are read as gauges.
struct Nature {
  MetricKind kind = MetricKind::gauge;
  CounterTraits counter{};
  [[nodiscard]] bool is_counter() const { return kind == MetricKind::counter; }
};
using NatureOf = std::function<Nature(SeriesNumber)>;

// Follows one counter from reading to reading, as FrameRates does, but across blocks: readings of
// another session (the daemon was started anew, or the host) are not compared.
class RateTrack {
 public:
  // nullopt where there is no increase to speak of: the first reading, a reset, a gap.
  [[nodiscard]] std::optional<Increase> take(double value, std::int64_t monotonic_us,
                                             std::uint64_t session, const CounterTraits& counter);
  // The value was absent: what comes next is compared with nothing.
  void clear() { before_.reset(); }

 private:
  std::uint64_t session_ = 0;
  std::optional<Reading> before_;
};

}  // namespace dynolog::history
