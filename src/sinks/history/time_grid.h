// Stretches of wall time of equal length, and what one series has in each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sinks/history/block.h"
#include "sinks/history/nature.h"

namespace dynolog::history {

struct Grid {
  std::int64_t begin_ms = 0;
  std::int64_t step_ms = 1000;
  std::size_t steps = 0;
  [[nodiscard]] std::int64_t end_ms() const {
    return begin_ms + step_ms * static_cast<std::int64_t>(steps);
  }
};

// How what lies within one step becomes one value.
enum class Fold : std::uint8_t { mean, min, max, last, total };

// What is wanted of a series: its values, or the rate at which it grows. Fold `total` of a rate is
// the increase.
enum class Form : std::uint8_t { value, rate };

// One series on the grid. Blocks are fed in the order in which they were recorded; steps without
// anything stay absent.
class SeriesOnGrid {
 public:
  SeriesOnGrid(const Grid& grid, SeriesNumber number, const Nature& nature, Form form, Fold fold);

  [[nodiscard]] SeriesNumber number() const { return number_; }
  // Values as they were read, at ticks from `from_ms` on; what is before counts as the past of what
  // comes. A malformed column is an error of kind invalid.
  Status feed_raw(const BlockReader& block, std::int64_t from_ms);
  // Minutes that begin before `until_ms`.
  Status feed_minutes(const BlockReader& block, std::int64_t until_ms);
  // One for each step, NaN where absent.
  [[nodiscard]] std::vector<double> values() const;

 private:
  struct Cell {
    double value = 0;
    double weight = 0;  // seconds or readings; 0: nothing is here
  };
  void add(std::size_t step, double value, double weight);
  void add_at(std::int64_t time_ms, double value);
  void add_span(std::int64_t begin_ms, std::int64_t end_ms, double value);
  void add_rate(std::int64_t end_ms, const Increase& increase);

  Grid grid_;
  SeriesNumber number_;
  Nature nature_;
  Form form_;
  Fold fold_;
  std::vector<Cell> cells_;
  std::uint64_t session_ = 0;
  double held_;
  RateTrack track_;
  std::vector<double> read_;
};

}  // namespace dynolog::history
