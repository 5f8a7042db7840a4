// Numbers of series.
#include "sinks/history/series_index.h"

#include <algorithm>

#include "base/text.h"

namespace dynolog::history {

std::string key_of(const Series& series) {
  std::string key(series.descriptor->id);
  for (std::size_t i = 0; i < series.label_values.size(); ++i) {
    key += '\n';
    key += series.descriptor->labels[i].key;
    key += '=';
    key += series.label_values[i];
  }
  return key;
}

KnownSeries::Labels KnownSeries::labels() const {
  Labels labels;
  std::string_view rest = key;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    rest.remove_prefix(end + 1);
    const std::string_view label = rest.substr(0, rest.find('\n'));
    const std::size_t equals = std::min(label.find('='), label.size());
    labels.emplace_back(label.substr(0, equals),
                        equals < label.size() ? label.substr(equals + 1) : std::string_view());
  }
  return labels;
}

void SeriesIndex::restore(SeriesNumber number, KnownSeries series) {
  const auto [entry, is_new] = known_.try_emplace(number, std::move(series));
  if (!is_new) return;
  by_key_.emplace(entry->second.key, number);
  next_ = std::max(next_, number + 1);
}

std::optional<SeriesNumber> SeriesIndex::number_of(const Series& series) {
  const std::string key = key_of(series);
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  if (known_.size() >= most_) return std::nullopt;
  const SeriesNumber number = next_++;
  // A copy has no room to spare: thousands of them are kept for days.
  const auto entry = known_.try_emplace(number, KnownSeries{.key = std::string(key)}).first;
  by_key_.emplace(entry->second.key, number);
  changed_.push_back(number);
  return number;
}

std::span<const SeriesNumber> SeriesIndex::numbers_of(
    const std::shared_ptr<const SeriesTable>& table) {
  const Slot known = table_ ? std::min(table_->size(), table->size()) : 0;
  numbers_.resize(table->size(), kNoNumber);
  for (Slot slot = 0; slot < table->size(); ++slot) {
    const Series* series = table->at(slot);
    SeriesNumber& number = numbers_[slot];
    // The table that is remembered keeps its series: the same address is the same series.
    const bool same = slot < known && table_->at(slot) == series;
    if (same && (series == nullptr || number != kNoNumber)) continue;
    number = series == nullptr ? kNoNumber : number_of(*series).value_or(kNoNumber);
  }
  table_ = table;
  return numbers_;
}

void SeriesIndex::seen(SeriesNumber number, std::int64_t wall_ms) {
  const auto found = known_.find(number);
  if (found == known_.end()) return;
  KnownSeries& series = found->second;
  series.last_seen_ms = std::max(series.last_seen_ms, wall_ms);
  if (std::exchange(series.is_gone, false)) changed_.push_back(number);
}

void SeriesIndex::mark_gone(std::int64_t before_ms) {
  for (auto& [number, series] : known_) {
    if (series.last_seen_ms >= before_ms || std::exchange(series.is_gone, true)) continue;
    changed_.push_back(number);
  }
}

std::vector<SeriesNumber> SeriesIndex::forget(std::int64_t before_ms, std::size_t most_gone) {
  std::vector<std::pair<std::int64_t, SeriesNumber>> gone;  // by the time when they were last seen
  for (const auto& [number, series] : known_) {
    // The highest number stays: after a restart it would be given again, and blocks name it.
    if (series.is_gone && number + 1 != next_) gone.emplace_back(series.last_seen_ms, number);
  }
  std::ranges::sort(gone);
  const std::size_t surplus = gone.size() - std::min(gone.size(), most_gone);
  std::vector<SeriesNumber> forgotten;
  for (const auto& [last_seen_ms, number] : gone) {
    if (last_seen_ms >= before_ms && forgotten.size() >= surplus) break;
    const auto known = known_.find(number);
    by_key_.erase(known->second.key);
    known_.erase(known);
    forgotten.push_back(number);
  }
  if (!forgotten.empty()) table_.reset();
  return forgotten;
}

const KnownSeries* SeriesIndex::find(SeriesNumber number) const {
  const auto found = known_.find(number);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace dynolog::history
