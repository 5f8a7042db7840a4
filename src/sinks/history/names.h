// From what a query names to series of the store: by our own id, Prometheus' name, OTLP's, that of
// JSON lines, or the name of a derived metric.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "metrics/catalogue.h"
#include "metrics/derived_metrics.h"
#include "sinks/history/nature.h"
#include "sinks/history/selector.h"
#include "sinks/history/series_index.h"

namespace dynolog::history {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct NamedSeries {
  SeriesNumber number = 0;
  const MetricDescriptor* descriptor = nullptr;  // nullptr: of a version that knew it
  Labels labels;
};

[[nodiscard]] const MetricDescriptor* find_metric(Catalogue catalogue, std::string_view id);

struct NamedDerived {
  const DerivedMetric* metric = nullptr;
  std::string_view label;  // of the name: the value of the label `by` that is meant; "": all
};
// Those of JSON lines too: cpu_u, cpu_u_node0.
[[nodiscard]] std::optional<NamedDerived> find_derived(std::string_view name);
[[nodiscard]] Nature nature_of(const MetricDescriptor* descriptor);

// Series of one metric, or of several that share a name in some scheme, in the order of labels.
// Errors: not_found when nothing has this name (with the nearest that there are), or no series
// fulfils the conditions; invalid for a condition on a label that the metric has not.
[[nodiscard]] Result<std::vector<NamedSeries>> select(const Selector& selector, Catalogue catalogue,
                                                      const SeriesIndex& index);
[[nodiscard]] bool fulfils(const Labels& labels, const std::vector<LabelCondition>& conditions);
[[nodiscard]] std::string unknown_metric(std::string_view name, Catalogue catalogue);

}  // namespace dynolog::history
