// The names of interval_names.h as derived metrics, so that the history's past can be asked for by
// them, too. A share is that of each step; what JSON lines have as an increase is a rate here, as
// with every counter.
#pragma once

#include <array>

#include "metrics/derived_metrics.h"
#include "metrics/interval_names.h"

namespace dynolog {

constexpr DerivedMetric derived_of(const IntervalName& from) {
  const std::string_view key = from.part_value.empty() ? "" : kIntervalPartKey;
  DerivedMetric derived{.name = from.name, .unit = "percent", .help = from.help, .scale = 100};
  derived.above = {{.metric = from.part, .key = key, .value = from.part_value}};
  if (from.is_per_label()) {
    const std::size_t brace = from.name.find('{');
    derived.name = from.name.substr(0, brace);
    derived.by = from.name.substr(brace + 1, from.name.size() - brace - 2);
  }
  if (from.form == IntervalForm::age) {
    derived.unit = "seconds";
    derived.scale = 1;
    derived.is_age = true;
  } else if (from.form == IntervalForm::milliseconds) {
    derived.unit = "milliseconds/s";
    derived.scale = 1000;
  } else {
    derived.below = {{.metric = from.whole}};
  }
  if (from.form == IntervalForm::rest_share) {
    derived.above = {{.metric = from.whole}, {from.part, key, from.part_value, -1}};
  }
  return derived;
}

inline constexpr auto kIntervalDerived = [] {
  std::array<DerivedMetric, kIntervalNames.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = derived_of(kIntervalNames[i]);
  return all;
}();

}  // namespace dynolog
