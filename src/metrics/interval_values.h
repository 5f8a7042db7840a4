// What a sink that reports less often than the host is read says of each series: a counter's
// increase over the whole interval, the mean of a gauge's readings. Nothing in between is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metrics/frame.h"
#include "metrics/frame_rates.h"

namespace dynolog {

// When a sink reports: at the first frame of each interval of wall time, so that hosts report at
// the same seconds. Due at every frame when frames are rarer.
class ReportingInterval {
 public:
  explicit ReportingInterval(std::chrono::seconds period) : period_(period) {}
  // Of each frame, once.
  [[nodiscard]] bool is_due(WallTime frame);

 private:
  std::chrono::seconds period_;
  std::optional<WallTime> last_;
};

class IntervalValues {
 public:
  enum class Of { all, gauges };
  // `longest`: see RateRules. Of::gauges for who needs no increases.
  IntervalValues(Nanoseconds longest, Of of) : rates_(longest), of_(of) {}

  // Each frame, once. Values count when their source was read at that tick.
  void add(const Frame& frame);
  // The next frame begins an interval.
  void restart();

  // Since restart(). Nothing when there was no increase to be had, or a part of it is not known
  // because the counter was reset: a sum with a gap is no sum.
  [[nodiscard]] std::optional<double> increase(Slot slot) const { return increase_of(sums_[slot]); }
  // Gauges, ratios, info: the mean of the interval's readings; the newest where a mean says
  // nothing.
  [[nodiscard]] std::optional<double> reading(Slot slot) const { return reading_of(sums_[slot]); }

  // Series that were closed within the interval, with what they had until then.
  struct Closed {
    std::shared_ptr<const SeriesTable> table;  // which keeps the series
    const Series* series = nullptr;
    std::optional<double> increase;
    std::optional<double> reading;
  };
  [[nodiscard]] const std::vector<Closed>& closed() const { return closed_; }

 private:
  struct Sum {
    SeriesId id;
    double amount = 0;  // counters: the sum of increases; others: the mean
    double newest = 0;
    std::uint32_t readings = 0;
    bool newest_only = false;
    bool has_gap = false;
  };
  static std::optional<double> increase_of(const Sum& sum);
  static std::optional<double> reading_of(const Sum& sum);
  void take_table(const std::shared_ptr<const SeriesTable>& table);
  void add_increase(Sum& sum, Slot slot) const;

  FrameRates rates_;
  Of of_;
  std::shared_ptr<const SeriesTable> table_;
  std::vector<Sum> sums_;
  std::vector<Closed> closed_;
};

}  // namespace dynolog
