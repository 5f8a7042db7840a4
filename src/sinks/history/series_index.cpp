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

void SeriesIndex::restore(SeriesNumber number, std::string key, std::int64_t last_seen_ms) {
  const auto [entry, is_new] = known_.try_emplace(number, std::move(key), last_seen_ms);
  if (!is_new) return;
  by_key_.emplace(entry->second.key, number);
  next_ = std::max(next_, number + 1);
}

std::optional<SeriesNumber> SeriesIndex::number_of(const Series& series) {
  std::string key = key_of(series);
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  if (known_.size() >= most_) return std::nullopt;
  const SeriesNumber number = next_++;
  const auto entry = known_.try_emplace(number, std::move(key), 0).first;
  by_key_.emplace(entry->second.key, number);
  new_.push_back(number);
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
  found->second.last_seen_ms = std::max(found->second.last_seen_ms, wall_ms);
}

std::vector<SeriesNumber> SeriesIndex::forget_before(std::int64_t wall_ms) {
  table_.reset();
  std::vector<SeriesNumber> gone;
  for (auto at = known_.begin(); at != known_.end();) {
    if (at->second.last_seen_ms >= wall_ms) {
      ++at;
      continue;
    }
    gone.push_back(at->first);
    by_key_.erase(at->second.key);
    at = known_.erase(at);
  }
  return gone;
}

const KnownSeries* SeriesIndex::find(SeriesNumber number) const {
  const auto found = known_.find(number);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace dynolog::history
