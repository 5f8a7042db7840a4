// The mutable side of the series table.
#include "metrics/series_book.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxLabelBytes = 256;

std::string key_of(const Series& series) {
  std::string key(series.descriptor->id);
  for (const std::string& value : series.label_values) {
    key += '\n';  // clean text holds none
    key += value;
  }
  return key;
}

}  // namespace

SeriesBook::SeriesBook(std::size_t max_series)
    : max_series_(max_series), published_(std::make_shared<const SeriesTable>()) {}

Result<Slot> SeriesBook::open(SourceIndex source, const MetricDescriptor& descriptor,
                              std::span<const std::string_view> label_values,
                              std::shared_ptr<const MetricDescriptor> owner) {
  if (label_values.size() != label_count(descriptor)) {
    return fail(ErrorKind::invalid, fmt::format("{}: {} label values for {} keys", descriptor.id,
                                                label_values.size(), label_count(descriptor)));
  }
  if (by_key_.size() >= max_series_) {
    return fail(ErrorKind::exhausted, fmt::format("more than {} series", max_series_));
  }
  auto series = std::make_shared<Series>();
  series->descriptor = &descriptor;
  series->source = source;
  series->owned = std::move(owner);
  for (const std::string_view value : label_values) {
    series->label_values.push_back(clean_text(value, kMaxLabelBytes));
  }
  const auto [entry, is_new] = by_key_.try_emplace(key_of(*series), Slot{0});
  if (!is_new) {
    return fail(ErrorKind::invalid,
                fmt::format("{}: a series with these labels is open", descriptor.id));
  }
  series->id = SeriesId{next_id_++};
  if (free_.empty()) {
    entry->second = size();
    slots_.push_back(std::move(series));
  } else {
    entry->second = free_.back();
    free_.pop_back();
    slots_[entry->second] = std::move(series);
  }
  changed_ = true;
  return entry->second;
}

void SeriesBook::close(Slot slot) {
  auto& series = slots_[slot];
  if (!series) return;
  by_key_.erase(key_of(*series));
  series.reset();
  free_.push_back(slot);
  changed_ = true;
}

const std::shared_ptr<const SeriesTable>& SeriesBook::publish() {
  if (changed_) {
    published_ = std::make_shared<const SeriesTable>(slots_);
    changed_ = false;
  }
  return published_;
}

}  // namespace dynolog
