// Deriving per-interval values.
#include "sinks/interval_record.h"

#include <cmath>
#include <unordered_map>

#include "metrics/naming.h"

namespace dynolog {
namespace {

// Percent with three decimals, as existing users see it.
double rounded(double percent) { return std::round(percent * 1000) / 1000; }

bool is_part(const Series& series, const IntervalName& name) {
  if (series.descriptor->id != name.part) return false;
  return name.part_value.empty() || series.label_values.back() == name.part_value;
}

bool is_of_whole(const Series& series, const IntervalName& name, const Series& part) {
  if (name.whole.empty() || series.descriptor->id != name.whole) return false;
  return !name.is_per_label() || series.label_values[0] == part.label_values[0];
}

}  // namespace

void IntervalRecord::plan(const SeriesTable& table) {
  singles_.clear();
  combined_.clear();
  for (Slot slot = 0; slot < table.size(); ++slot) {
    const Series* series = table.at(slot);
    if (series == nullptr || series->descriptor->json.name.empty()) continue;
    singles_.push_back({expand_name(series->descriptor->json.name, *series), slot,
                        series->descriptor->kind == MetricKind::counter});
  }
  for (const IntervalName& name : kIntervalNames) plan_combined(table, name);
}

void IntervalRecord::plan_combined(const SeriesTable& table, const IntervalName& name) {
  for (Slot slot = 0; slot < table.size(); ++slot) {
    const Series* part = table.at(slot);
    if (part == nullptr || !is_part(*part, name)) continue;
    std::vector<Slot> whole;
    for (Slot other = 0; other < table.size(); ++other) {
      const Series* series = table.at(other);
      if (series != nullptr && is_of_whole(*series, name, *part)) whole.push_back(other);
    }
    combined_.push_back({expand_name(name.name, *part), &name, slot, std::move(whole)});
  }
}

void IntervalRecord::add(const Frame& frame) {
  if (planned_for_ != frame.table()) {
    planned_for_ = frame.table();
    plan(*planned_for_);
  }
  sums_.add(frame);
  newest_ = frame.wall();
}

std::span<const NamedValue> IntervalRecord::take() {
  values_.clear();
  for (const Combined& item : combined_) {
    if (const auto value = value_of(item)) values_.push_back({item.text, *value});
  }
  for (const Single& item : singles_) {
    const auto value = item.is_counter ? sums_.increase(item.slot) : sums_.reading(item.slot);
    if (value) values_.push_back({item.name, *value});
  }
  add_closed();
  sums_.restart();
  return values_;
}

// Of devices that went within the interval; one that came back has its two parts summed up.
void IntervalRecord::add_closed() {
  closed_names_.clear();
  if (sums_.closed().empty()) return;
  std::unordered_map<std::string_view, std::size_t> at;
  for (std::size_t i = 0; i < values_.size(); ++i) at.emplace(values_[i].name, i);
  closed_names_.reserve(sums_.closed().size());  // so that views of its texts stay
  for (const IntervalValues::Closed& closed : sums_.closed()) {
    const std::string_view pattern = closed.series->descriptor->json.name;
    const auto value = closed.increase ? closed.increase : closed.reading;
    if (pattern.empty() || !value) continue;
    const std::string& name = closed_names_.emplace_back(expand_name(pattern, *closed.series));
    const auto [known, added] = at.try_emplace(name, values_.size());
    if (added) {
      values_.push_back({name, *value});
    } else if (closed.increase) {
      values_[known->second].value += *value;
    }
  }
}

std::optional<double> IntervalRecord::value_of(const Combined& item) const {
  switch (item.name->form) {
    case IntervalForm::age: {
      const auto since = sums_.reading(item.part);
      if (!since) return std::nullopt;
      const double now = std::chrono::duration<double>(newest_.time_since_epoch()).count();
      return std::floor(now - *since);
    }
    case IntervalForm::milliseconds: {
      const auto increase = sums_.increase(item.part);
      if (!increase) return std::nullopt;
      return std::round(*increase * 1000);
    }
    case IntervalForm::share: {
      const auto share = share_of(item);
      return share ? std::optional(rounded(100 * *share)) : std::nullopt;
    }
    case IntervalForm::rest_share: {
      const auto share = share_of(item);
      return share ? std::optional(rounded(100 * (1 - *share))) : std::nullopt;
    }
  }
  return std::nullopt;
}

// Nothing unless the part and all of the whole have an increase: a sum with a gap is no sum.
std::optional<double> IntervalRecord::share_of(const Combined& item) const {
  const auto part = sums_.increase(item.part);
  if (!part) return std::nullopt;
  double whole = 0;
  for (const Slot slot : item.whole) {
    const auto increase = sums_.increase(slot);
    if (!increase) return std::nullopt;
    whole += *increase;
  }
  if (whole <= 0) return std::nullopt;
  return *part / whole;
}

}  // namespace dynolog
