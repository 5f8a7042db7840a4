// A source of values. It reads, and says what the readings mean: cumulative counters and gauges,
// never differences.
#pragma once

#include <string_view>

#include "base/error.h"
#include "metrics/samples.h"
#include "metrics/tier.h"

namespace dynolog {

// All calls come from the pipeline's thread, one at a time. A collector throws nothing.
class Collector {
 public:
  virtual ~Collector() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Tier tier() const = 0;

  // Writes each of its series once: a value or a reason. Series are opened when a device is first
  // seen and closed when it goes. What is left unwritten counts as not reported; with an error,
  // everything unwritten is absent for the error's reason. The steady state allocates nothing.
  [[nodiscard]] virtual Status collect(Samples& out) = 0;

  // For what a worker reads: it has answered since the last collect(), which is then called at the
  // next tick, whatever the tier.
  [[nodiscard]] virtual bool has_news() const { return false; }

  // What somebody has to mend, although the last collect() succeeded: a part of what it reads is
  // not sound. "": nothing. Logged once, and shown until it is mended.
  [[nodiscard]] virtual std::string_view problem() const { return ""; }
};

}  // namespace dynolog
