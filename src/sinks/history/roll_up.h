// From values as they were read to one point a minute: last, mean, least and greatest. Of a counter
// the last is its value, the others are of its rate; a step belongs to the minute in which it was
// read.
#pragma once

#include <string>
#include <unordered_map>

#include "base/error.h"
#include "sinks/history/block.h"
#include "sinks/history/nature.h"

namespace dynolog::history {

inline constexpr std::int64_t kMinuteMs = 60'000;

// Means, and least and greatest rates, are rounded to five digits.
class RollUp {
 public:
  // One part's blocks, in the order of time: what a block ends with is remembered for the next.
  [[nodiscard]] Result<std::string> take(const BlockReader& block, const NatureOf& nature_of);

 private:
  struct Carried {
    RateTrack track;
    double held;
  };
  std::unordered_map<SeriesNumber, Carried> carried_;
};

[[nodiscard]] double to_five_digits(double value);

}  // namespace dynolog::history
