// Summing up, frame by frame.
#include "metrics/interval_values.h"

#include "metrics/sampler.h"

namespace dynolog {
namespace {

// Of one interval: devices that come and go all the time are not a memory leak.
constexpr std::size_t kMaxClosed = 10'000;

}  // namespace

bool ReportingInterval::is_due(WallTime frame) {
  if (!dynolog::is_due(period_, last_, frame)) return false;
  last_ = frame;
  return true;
}

void IntervalValues::add(const Frame& frame) {
  if (table_ != frame.table()) take_table(frame.table());
  if (of_ == Of::all) rates_.update(frame);
  for (Slot slot = 0; slot < table_->size(); ++slot) {
    const Series* series = table_->at(slot);
    if (series == nullptr || !frame.reading_of(*series).fresh) continue;
    Sum& sum = sums_[slot];
    if (series->descriptor->kind == MetricKind::counter) {
      if (of_ == Of::all) add_increase(sum, slot);
    } else if (const auto value = frame.value(slot)) {
      ++sum.readings;
      sum.amount += (*value - sum.amount) / sum.readings;  // the mean so far; exact for constants
      sum.newest = *value;
    }
  }
}

void IntervalValues::add_increase(Sum& sum, Slot slot) const {
  const auto& increase = rates_.of(slot);
  if (increase) {
    sum.amount += increase->amount;
    ++sum.readings;
  } else if (increase.error() == NoIncrease::reset || increase.error() == NoIncrease::gap) {
    sum.has_gap = true;
  }
}

void IntervalValues::restart() {
  closed_.clear();
  for (Sum& sum : sums_) {
    sum.amount = 0;
    sum.readings = 0;
    sum.has_gap = false;
  }
}

// What was summed up of series that are gone moves to closed_.
void IntervalValues::take_table(const std::shared_ptr<const SeriesTable>& table) {
  for (Slot slot = 0; slot < sums_.size(); ++slot) {
    Sum& sum = sums_[slot];
    const Series* series = slot < table->size() ? table->at(slot) : nullptr;
    if (series != nullptr && series->id == sum.id) continue;
    if (sum.readings > 0 && closed_.size() < kMaxClosed) {
      const Series* old = table_->at(slot);
      const bool is_counter = old->descriptor->kind == MetricKind::counter;
      closed_.push_back({table_, old, is_counter ? increase_of(sum) : std::nullopt,
                         is_counter ? std::nullopt : reading_of(sum)});
    }
    sum = {};
  }
  table_ = table;
  sums_.resize(table->size());
  for (Slot slot = 0; slot < table->size(); ++slot) {
    const Series* series = table->at(slot);
    if (series == nullptr) continue;
    sums_[slot].id = series->id;
    sums_[slot].newest_only =
        series->descriptor->newest_only || series->descriptor->kind == MetricKind::info;
  }
}

std::optional<double> IntervalValues::increase_of(const Sum& sum) {
  if (sum.readings == 0 || sum.has_gap) return std::nullopt;
  return sum.amount;
}

std::optional<double> IntervalValues::reading_of(const Sum& sum) {
  if (sum.readings == 0) return std::nullopt;
  return sum.newest_only ? sum.newest : sum.amount;
}

}  // namespace dynolog
