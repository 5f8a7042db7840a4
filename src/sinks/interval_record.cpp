// Deriving per-interval values.
#include "sinks/interval_record.h"

#include <cmath>

#include "metrics/naming.h"

namespace dynolog {
namespace {

// Percent with three decimals, as existing users see it.
double rounded(double percent) { return std::round(percent * 1000) / 1000; }

bool is_part(const Series& series, const IntervalName& name) {
  if (series.descriptor->id != name.part) return false;
  return name.part_value.empty() || series.label_values[0] == name.part_value;
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
  std::optional<Slot> part;
  std::vector<Slot> whole;
  for (Slot slot = 0; slot < table.size(); ++slot) {
    const Series* series = table.at(slot);
    if (series == nullptr) continue;
    if (is_part(*series, name)) part = slot;
    if (!name.whole.empty() && series->descriptor->id == name.whole) whole.push_back(slot);
  }
  if (part) combined_.push_back({&name, *part, std::move(whole)});
}

std::span<const NamedValue> IntervalRecord::update(const Frame& frame) {
  if (planned_for_ != frame.table()) {
    planned_for_ = frame.table();
    plan(*planned_for_);
  }
  rates_.update(frame);
  values_.clear();
  for (const Combined& item : combined_) {
    const Series& series = *planned_for_->at(item.part);
    if (!frame.reading_of(series).fresh) continue;
    if (const auto value = value_of(item, frame)) values_.push_back({item.name->name, *value});
  }
  for (const Single& item : singles_) {
    if (!frame.reading_of(*planned_for_->at(item.slot)).fresh) continue;
    if (item.is_counter) {
      if (const auto& increase = rates_.of(item.slot)) {
        values_.push_back({item.name, increase->amount});
      }
    } else if (const auto value = frame.value(item.slot)) {
      values_.push_back({item.name, *value});
    }
  }
  return values_;
}

std::optional<double> IntervalRecord::value_of(const Combined& item, const Frame& frame) const {
  switch (item.name->form) {
    case IntervalForm::age: {
      const auto since = frame.value(item.part);
      if (!since) return std::nullopt;
      const double now = std::chrono::duration<double>(frame.wall().time_since_epoch()).count();
      return std::floor(now - *since);
    }
    case IntervalForm::milliseconds: {
      const auto& increase = rates_.of(item.part);
      if (!increase) return std::nullopt;
      return std::round(increase->amount * 1000);
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
  const auto& part = rates_.of(item.part);
  if (!part) return std::nullopt;
  double whole = 0;
  for (const Slot slot : item.whole) {
    const auto& increase = rates_.of(slot);
    if (!increase) return std::nullopt;
    whole += increase->amount;
  }
  if (whole <= 0) return std::nullopt;
  return part->amount / whole;
}

}  // namespace dynolog
