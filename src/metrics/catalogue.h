// All metrics there are: checks at compile time, and the list as text, JSON and a page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "metrics/descriptor.h"
#include "metrics/interval_names.h"
#include "metrics/naming.h"
#include "metrics/tier.h"

namespace dynolog {

// The metrics of one collector.
struct CatalogueSection {
  std::string_view name;
  Tier tier = Tier::fast;
  std::span<const MetricDescriptor> metrics;
};
using Catalogue = std::span<const CatalogueSection>;

namespace catalogue_checks {

constexpr bool is_label_of(const MetricDescriptor& metric, std::string_view key) {
  for (std::size_t i = 0; i < label_count(metric); ++i) {
    if (metric.labels[i].key == key) return true;
  }
  return false;
}

// Braces are closed and hold a label of the metric; what is around them is of `allowed`.
constexpr bool is_pattern(const MetricDescriptor& metric, std::string_view pattern,
                          std::string_view allowed) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  while (!pattern.empty()) {
    if (pattern.front() == '{') {
      const std::size_t close = pattern.find('}');
      if (close == std::string_view::npos) return false;
      if (!is_label_of(metric, pattern.substr(1, close - 1))) return false;
      pattern.remove_prefix(close + 1);
      continue;
    }
    const char letter = pattern.front();
    if (kLetters.find(letter) == std::string_view::npos &&
        allowed.find(letter) == std::string_view::npos) {
      return false;
    }
    pattern.remove_prefix(1);
  }
  return true;
}

constexpr bool folds_all_labels(const MetricDescriptor& metric, std::string_view pattern) {
  for (std::size_t i = 0; i < label_count(metric); ++i) {
    if (!folds(pattern, metric.labels[i].key)) return false;
  }
  return true;
}

constexpr bool same_name(const SchemeName& a, const SchemeName& b) {
  return !a.name.empty() && a.name == b.name && a.fixed_key == b.fixed_key &&
         a.fixed_value == b.fixed_value;
}

}  // namespace catalogue_checks

// Has id, help and source; its patterns are sound; JSON, which has no labels, folds all of them.
[[nodiscard]] constexpr bool is_well_formed(const MetricDescriptor& metric) {
  namespace checks = catalogue_checks;
  if (metric.id.empty() || metric.help.empty() || metric.source.empty()) return false;
  if (metric.help.ends_with('.') || metric.help.find('\n') != std::string_view::npos) return false;
  if (!checks::is_pattern(metric, metric.prometheus.name, ":")) return false;
  if (!checks::is_pattern(metric, metric.otlp.name, ".")) return false;
  if (!checks::is_pattern(metric, metric.json.name, ".")) return false;
  return metric.json.name.empty() || checks::folds_all_labels(metric, metric.json.name);
}

[[nodiscard]] constexpr bool is_well_formed(Catalogue catalogue) {
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (!is_well_formed(metric)) return false;
    }
  }
  return true;
}

// May both be in one catalogue: no id twice, and no name twice within a scheme?
[[nodiscard]] constexpr bool are_distinct(const MetricDescriptor& a, const MetricDescriptor& b) {
  namespace checks = catalogue_checks;
  return a.id != b.id && !checks::same_name(a.prometheus, b.prometheus) &&
         !checks::same_name(a.otlp, b.otlp) && !checks::same_name(a.json, b.json);
}

// Counts, not addresses, tell a metric from the others: g++ 12 takes no comparison of addresses for
// constant when it instruments undefined behaviour.
[[nodiscard]] constexpr bool is_distinct_from_all(Catalogue catalogue,
                                                  const MetricDescriptor& metric) {
  std::size_t alike = 0;
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& other : section.metrics) {
      if (!are_distinct(other, metric)) ++alike;
    }
  }
  for (const IntervalName& name : kIntervalNames) {
    if (name.name == metric.json.name) return false;
  }
  return alike == 1;  // itself
}

[[nodiscard]] constexpr bool has_unique_names(Catalogue catalogue) {
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (!is_distinct_from_all(catalogue, metric)) return false;
    }
  }
  return true;
}

[[nodiscard]] constexpr bool has_metric(Catalogue catalogue, std::string_view id,
                                        std::size_t labels) {
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (metric.id == id) return label_count(metric) == labels;
    }
  }
  return false;
}

// Does each name of sums and shares speak of metrics that there are?
[[nodiscard]] constexpr bool serves_interval_names(Catalogue catalogue) {
  for (const IntervalName& name : kIntervalNames) {
    if (!has_metric(catalogue, name.part, name.part_value.empty() ? 0 : 1)) return false;
    if (!name.whole.empty() && !has_metric(catalogue, name.whole, 1)) return false;
  }
  return true;
}

// For people: a line for each metric. Or JSON, with a "schema" number.
[[nodiscard]] std::string list_catalogue(Catalogue catalogue, bool json);
// docs/metrics.md.
[[nodiscard]] std::string catalogue_page(Catalogue catalogue);

}  // namespace dynolog
