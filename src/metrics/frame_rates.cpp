// Increases, frame by frame.
#include "metrics/frame_rates.h"

namespace dynolog {

void FrameRates::update(const Frame& frame) {
  const SeriesTable& table = *frame.table();
  entries_.resize(table.size());
  for (Slot slot = 0; slot < table.size(); ++slot) {
    Entry& entry = entries_[slot];
    const Series* series = table.at(slot);
    if (series == nullptr || series->descriptor->kind != MetricKind::counter) {
      entry = {};
      continue;
    }
    if (entry.id != series->id)
      entry = {series->id, std::nullopt, std::unexpected(NoIncrease::first)};
    update_entry(entry, *series, frame, slot);
  }
}

void FrameRates::update_entry(Entry& entry, const Series& series, const Frame& frame,
                              Slot slot) const {
  const SourceReading& source = frame.reading_of(series);
  const auto value = frame.value(slot);
  if (!source.fresh || !value) {
    // The reading before stays: the next value is compared with it, over the longer time.
    entry.latest = std::unexpected(NoIncrease::first);
    return;
  }
  Reading now{*value, source.time};
  entry.latest =
      increase(entry.before, now, {.counter = series.descriptor->counter, .longest = longest_});
  if (!entry.latest && entry.latest.error() == NoIncrease::no_time) return;
  // After noise the higher value remains the base, so that the sum of increases stays true.
  if (entry.latest && entry.before && now.value < entry.before->value &&
      entry.before->value - now.value <= series.descriptor->counter.backward_slack) {
    now.value = entry.before->value;
  }
  entry.before = now;
}

}  // namespace dynolog
