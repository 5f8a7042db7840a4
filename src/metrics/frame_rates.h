// The increases of all counters of a frame since the frame before, series by series.
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "metrics/frame.h"
#include "metrics/rates.h"

namespace dynolog {

// One for each sink that wants increases. Memory grows with the table only.
class FrameRates {
 public:
  // `longest`: see RateRules. At least a few sampling intervals of the slowest tier.
  explicit FrameRates(Nanoseconds longest) : longest_(longest) {}

  // Takes the counters of sources that were read at this tick. Call once for each frame.
  void update(const Frame& frame);

  // Of a counter whose source was read at this tick; first for every other slot.
  [[nodiscard]] const std::expected<Increase, NoIncrease>& of(Slot slot) const {
    return entries_[slot].latest;
  }

 private:
  struct Entry {
    SeriesId id;
    std::optional<Reading> before;
    std::expected<Increase, NoIncrease> latest = std::unexpected(NoIncrease::first);
  };
  void update_entry(Entry& entry, const Series& series, const Frame& frame, Slot slot) const;

  Nanoseconds longest_;
  std::vector<Entry> entries_;
};

}  // namespace dynolog
