// All metrics there are: checks at compile time, and the list as text, JSON and a page.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/derived_metrics.h"
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

struct Name {
  std::string_view name;
  std::string_view fixed_key;
  std::string_view fixed_value;
  constexpr auto operator<=>(const Name&) const = default;
};

constexpr void add_name(std::vector<Name>& names, const SchemeName& scheme) {
  if (!scheme.name.empty()) {
    names.push_back({scheme.name, scheme.fixed_key, scheme.fixed_value});
  }
}

constexpr bool are_unique(std::vector<Name>& names) {
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
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

// The same of all of them, and of the names of sums and shares. Sorted, as comparing each with each
// is more than a compiler does at compile time.
[[nodiscard]] constexpr bool has_unique_names(Catalogue catalogue) {
  namespace checks = catalogue_checks;
  std::vector<checks::Name> ids;
  std::vector<checks::Name> prometheus;
  std::vector<checks::Name> otlp;
  std::vector<checks::Name> json;
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      ids.push_back({metric.id, {}, {}});
      checks::add_name(prometheus, metric.prometheus);
      checks::add_name(otlp, metric.otlp);
      checks::add_name(json, metric.json);
    }
  }
  for (const IntervalName& name : kIntervalNames) json.push_back({name.name, {}, {}});
  return checks::are_unique(ids) && checks::are_unique(prometheus) && checks::are_unique(otlp) &&
         checks::are_unique(json);
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
    const std::size_t more = name.is_per_label() ? 1 : 0;
    if (!has_metric(catalogue, name.part, (name.part_value.empty() ? 0 : 1) + more)) return false;
    if (!name.whole.empty() && !has_metric(catalogue, name.whole, 1 + more)) return false;
  }
  return true;
}

namespace catalogue_checks {

constexpr bool has_label(Catalogue catalogue, std::string_view id, std::string_view key) {
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (metric.id == id) return key.empty() || is_label_of(metric, key);
    }
  }
  return false;
}

}  // namespace catalogue_checks

// Are derived metrics' names nobody else's, and do they speak of metrics and labels that there are?
[[nodiscard]] constexpr bool serves_derived_metrics(Catalogue catalogue) {
  namespace checks = catalogue_checks;
  for (const DerivedMetric& derived : kDerivedMetrics) {
    if (checks::has_label(catalogue, derived.name, "")) return false;
    for (const DerivedTerm& term : derived.above) {
      if (!checks::has_label(catalogue, term.metric, term.key)) return false;
      if (!checks::has_label(catalogue, term.metric, derived.by)) return false;
    }
    for (const DerivedTerm& term : derived.below) {
      if (!checks::has_label(catalogue, term.metric, term.key)) return false;
      const std::string_view by = derived.below_is_whole ? "" : derived.by;
      if (!checks::has_label(catalogue, term.metric, by)) return false;
    }
  }
  return true;
}

// For people: a line for each metric. Or JSON, with a "schema" number.
[[nodiscard]] std::string list_catalogue(Catalogue catalogue, bool json);
// docs/metrics.md.
[[nodiscard]] std::string catalogue_page(Catalogue catalogue);

}  // namespace dynolog
