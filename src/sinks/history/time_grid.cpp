// Putting values and rates where they belong.
#include "sinks/history/time_grid.h"

#include <algorithm>
#include <cmath>

#include "sinks/history/column.h"
#include "sinks/history/roll_up.h"

namespace dynolog::history {

SeriesOnGrid::SeriesOnGrid(const Grid& grid, SeriesNumber number, const Nature& nature, Form form,
                           Fold fold)
    : grid_(grid),
      number_(number),
      nature_(nature),
      form_(form),
      fold_(fold),
      cells_(grid.steps),
      held_(kAbsent) {}

void SeriesOnGrid::add(std::size_t step, double value, double weight) {
  Cell& cell = cells_[step];
  const bool is_first = cell.weight == 0;
  switch (fold_) {
    case Fold::mean:
    case Fold::total:
      cell.value += value * weight;
      break;
    case Fold::min:
      cell.value = is_first ? value : std::min(cell.value, value);
      break;
    case Fold::max:
      cell.value = is_first ? value : std::max(cell.value, value);
      break;
    case Fold::last:
      cell.value = value;
      break;
  }
  cell.weight += weight;
}

void SeriesOnGrid::add_at(std::int64_t time_ms, double value) {
  if (time_ms < grid_.begin_ms || time_ms >= grid_.end_ms()) return;
  add(static_cast<std::size_t>((time_ms - grid_.begin_ms) / grid_.step_ms), value, 1);
}

void SeriesOnGrid::add_span(std::int64_t begin_ms, std::int64_t end_ms, double value) {
  const std::int64_t begin = std::max(begin_ms, grid_.begin_ms);
  const std::int64_t end = std::min(end_ms, grid_.end_ms());
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t step = (at - grid_.begin_ms) / grid_.step_ms;
    const std::int64_t next = std::min(end, grid_.begin_ms + (step + 1) * grid_.step_ms);
    add(static_cast<std::size_t>(step), value, static_cast<double>(next - at) / 1000);
    at = next;
  }
}

// A rate of about a step's length belongs to one step, so that a tick that was a little late does
// not reach into the next. One of a slower source is spread over all the steps that it covers.
void SeriesOnGrid::add_rate(std::int64_t end_ms, const Increase& increase) {
  const auto elapsed = static_cast<std::int64_t>(increase.elapsed.count() * 1000);
  const double rate = increase.per_second();
  if (elapsed > grid_.step_ms + grid_.step_ms / 2) {
    return add_span(end_ms - elapsed, end_ms, rate);
  }
  const std::int64_t middle = end_ms - elapsed / 2;
  if (middle < grid_.begin_ms || middle >= grid_.end_ms()) return;
  add(static_cast<std::size_t>((middle - grid_.begin_ms) / grid_.step_ms), rate,
      increase.elapsed.count());
}

Status SeriesOnGrid::feed_raw(const BlockReader& block, std::int64_t from_ms) {
  if (block.session() != session_) held_ = kAbsent;
  session_ = block.session();
  const BlockReader::Column* column = block.find({number_, Field::last});
  if (column == nullptr) {  // the series was closed
    held_ = kAbsent;
    track_.clear();
    return {};
  }
  if (auto read = block.read(*column, read_); !read) return read;
  const auto read_at = block.ticks_of(*column);
  std::size_t next = 0;
  for (std::size_t i = 0; i < block.ticks().size(); ++i) {
    const Tick& tick = block.ticks()[i];
    const bool is_read = next < read_at.size() && read_at[next] == i;
    if (is_read) held_ = read_[next++];
    if (std::isnan(held_)) {
      track_.clear();
    } else if (form_ == Form::value) {
      if (tick.wall_ms >= from_ms) add_at(tick.wall_ms, held_);
    } else if (is_read) {
      const auto step = track_.take(held_, tick.monotonic_us, block.session(), nature_.counter);
      if (step && tick.wall_ms >= from_ms) add_rate(tick.wall_ms, *step);
    }
  }
  return {};
}

Status SeriesOnGrid::feed_minutes(const BlockReader& block, std::int64_t until_ms) {
  Field field = Field::mean;
  if (fold_ == Fold::min) field = Field::min;
  if (fold_ == Fold::max) field = Field::max;
  // Of a counter everything but the last is of its rate.
  const bool counter_value = nature_.is_counter() && form_ == Form::value;
  if (fold_ == Fold::last && form_ == Form::value) field = Field::last;
  if (counter_value) field = Field::last;
  const BlockReader::Column* column = block.find({number_, field});
  if (column == nullptr) return {};
  if (auto read = block.read(*column, read_); !read) return read;
  const auto read_at = block.ticks_of(*column);
  for (std::size_t i = 0; i < read_at.size(); ++i) {
    const std::int64_t minute = block.ticks()[read_at[i]].wall_ms;
    if (minute >= until_ms || std::isnan(read_[i])) continue;
    add_span(minute, std::min(minute + kMinuteMs, until_ms), read_[i]);
  }
  return {};
}

std::vector<double> SeriesOnGrid::values() const {
  std::vector<double> values;
  values.reserve(cells_.size());
  for (const Cell& cell : cells_) {
    if (cell.weight <= 0) {
      values.push_back(kAbsent);
    } else {
      values.push_back(fold_ == Fold::mean ? cell.value / cell.weight : cell.value);
    }
  }
  return values;
}

}  // namespace dynolog::history
