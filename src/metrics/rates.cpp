// Increases of counters, guarded.
#include "metrics/rates.h"

#include <cmath>

namespace dynolog {
namespace {

std::expected<double, NoIncrease> amount_between(double before, double now,
                                                 const CounterTraits& counter) {
  if (now >= before) return now - before;
  if (before - now <= counter.backward_slack) return 0.0;
  if (counter.bits == 0) return std::unexpected(NoIncrease::reset);
  const double range = std::ldexp(counter.scale, static_cast<int>(counter.bits));
  if (before >= range) return std::unexpected(NoIncrease::reset);  // it is no such counter
  const double wrapped = (range - before) + now;
  if (wrapped >= range / 2) return std::unexpected(NoIncrease::reset);
  return wrapped;
}

}  // namespace

std::string_view to_string(NoIncrease reason) {
  switch (reason) {
    case NoIncrease::first:
      return "first";
    case NoIncrease::reset:
      return "reset";
    case NoIncrease::no_time:
      return "no_time";
    case NoIncrease::gap:
      return "gap";
  }
  return "";
}

std::expected<Increase, NoIncrease> increase(const std::optional<Reading>& before,
                                             const Reading& now, const RateRules& rules) {
  if (!before) return std::unexpected(NoIncrease::first);
  const Nanoseconds elapsed = now.time - before->time;
  if (elapsed < rules.shortest) return std::unexpected(NoIncrease::no_time);
  if (elapsed > rules.longest) return std::unexpected(NoIncrease::gap);
  const auto amount = amount_between(before->value, now.value, rules.counter);
  if (!amount) return std::unexpected(amount.error());
  return Increase{*amount, elapsed};
}

}  // namespace dynolog
