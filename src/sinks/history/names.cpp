// Names of all schemes.
#include "sinks/history/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "metrics/interval_derived.h"
#include "metrics/naming.h"

namespace dynolog::history {
namespace {

// A metric that may be meant, and what else has to hold of its series: a fixed label of its scheme
// was asked for, or its name folds labels.
struct Candidate {
  const MetricDescriptor* descriptor = nullptr;
  std::string_view pattern{};  // "": every series
  std::string_view fixed_key{};
  std::string_view fixed_value{};
};

bool may_expand_to(std::string_view pattern, std::string_view name) {
  const std::size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return pattern == name;
  const std::string_view tail = pattern.substr(pattern.rfind('}') + 1);
  return name.starts_with(pattern.substr(0, brace)) && name.ends_with(tail) &&
         name.size() >= brace + tail.size();
}

void add_scheme(std::vector<Candidate>& to, const MetricDescriptor& metric,
                const SchemeName& scheme, std::string_view name) {
  if (scheme.name.empty() || !may_expand_to(scheme.name, name)) return;
  const bool folds_labels = scheme.name.contains('{');
  to.push_back({&metric, folds_labels ? scheme.name : std::string_view(), scheme.fixed_key,
                scheme.fixed_value});
}

std::vector<Candidate> candidates(std::string_view name, Catalogue catalogue) {
  std::vector<Candidate> found;
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (metric.id == name) return {Candidate{&metric}};
      add_scheme(found, metric, metric.prometheus, name);
      add_scheme(found, metric, metric.otlp, name);
      add_scheme(found, metric, metric.json, name);
    }
  }
  return found;
}

// The label as the metric's descriptor calls it; "" when it has none of that name.
std::string_view own_key(const MetricDescriptor& metric, std::string_view key) {
  for (std::size_t i = 0; i < label_count(metric); ++i) {
    const LabelKey& label = metric.labels[i];
    if (label.key == key || (!label.otlp.empty() && label.otlp == key)) return label.key;
  }
  return "";
}

std::string label_names(const MetricDescriptor& metric) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < label_count(metric); ++i) names.push_back(metric.labels[i].key);
  return names.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(names, ", "));
}

// Conditions with our own keys; those on a fixed label are decided here. nullopt: not this metric.
Result<std::optional<std::vector<LabelCondition>>> own_conditions(
    const Candidate& candidate, const std::vector<LabelCondition>& conditions) {
  std::vector<LabelCondition> own;
  for (LabelCondition condition : conditions) {
    if (!candidate.fixed_key.empty() && condition.key == candidate.fixed_key) {
      if (!condition.holds(candidate.fixed_value)) return std::nullopt;
      continue;
    }
    const std::string_view key = own_key(*candidate.descriptor, condition.key);
    if (key.empty()) {
      return fail(ErrorKind::invalid,
                  fmt::format("{} has no label '{}'; {}", candidate.descriptor->id,
                              clean_text(condition.key, 64), label_names(*candidate.descriptor)));
    }
    condition.key = key;
    own.push_back(std::move(condition));
  }
  return own;
}

Labels labels_of(const KnownSeries& known) {
  Labels labels;
  for (const auto& [key, value] : known.labels()) labels.emplace_back(key, value);
  return labels;
}

// A name with its labels folded in, as expand_name() makes it, from stored labels.
bool expands_to(std::string_view pattern, const Labels& labels, std::string_view name) {
  std::string expanded;
  while (!pattern.empty()) {
    const std::size_t open = std::min(pattern.find('{'), pattern.size());
    expanded += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty()) break;
    const std::size_t close = pattern.find('}');
    const std::string_view key = pattern.substr(1, close - 1);
    const auto found = std::ranges::find(labels, key, &Labels::value_type::first);
    if (found != labels.end()) expanded += found->second;
    pattern.remove_prefix(close + 1);
  }
  return expanded == name;
}

void append_matching(std::vector<NamedSeries>& to, const Candidate& candidate,
                     std::string_view name, const std::vector<LabelCondition>& conditions,
                     const SeriesIndex& index) {
  for (const auto& [number, known] : index.all()) {
    if (known.metric() != candidate.descriptor->id) continue;
    Labels labels = labels_of(known);
    if (!candidate.pattern.empty() && !expands_to(candidate.pattern, labels, name)) continue;
    if (!fulfils(labels, conditions)) continue;
    to.push_back({number, candidate.descriptor, std::move(labels)});
  }
}

// Of a metric that this version does not know, but the store does.
void append_forgotten(std::vector<NamedSeries>& to, const Selector& selector,
                      const SeriesIndex& index) {
  for (const auto& [number, known] : index.all()) {
    if (known.metric() != selector.name) continue;
    Labels labels = labels_of(known);
    if (fulfils(labels, selector.conditions)) to.push_back({number, nullptr, std::move(labels)});
  }
}

// "cpu10" after "cpu9".
bool natural_less(std::string_view a, std::string_view b) {
  const bool digits = !a.empty() && !b.empty() &&
                      a.find_first_not_of("0123456789") == std::string_view::npos &&
                      b.find_first_not_of("0123456789") == std::string_view::npos;
  if (digits && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

bool labels_less(const NamedSeries& a, const NamedSeries& b) {
  for (std::size_t i = 0; i < std::min(a.labels.size(), b.labels.size()); ++i) {
    if (a.labels[i].second != b.labels[i].second) {
      return natural_less(a.labels[i].second, b.labels[i].second);
    }
  }
  return a.number < b.number;
}

}  // namespace

const MetricDescriptor* find_metric(Catalogue catalogue, std::string_view id) {
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (metric.id == id) return &metric;
    }
  }
  return nullptr;
}

std::optional<NamedDerived> find_derived(std::string_view name) {
  const auto found = std::ranges::find(kDerivedMetrics, name, &DerivedMetric::name);
  if (found != kDerivedMetrics.end()) return NamedDerived{&*found, ""};
  for (const DerivedMetric& derived : kIntervalDerived) {
    if (derived.name == name) return NamedDerived{&derived, ""};
    if (derived.by.empty() || !name.starts_with(derived.name)) continue;
    const std::string_view label = name.substr(derived.name.size());
    if (parse_number<std::uint32_t>(label)) return NamedDerived{&derived, label};
  }
  return std::nullopt;
}

Nature nature_of(const MetricDescriptor* descriptor) {
  if (descriptor == nullptr) return {};
  return {descriptor->kind, descriptor->counter};
}

bool fulfils(const Labels& labels, const std::vector<LabelCondition>& conditions) {
  return std::ranges::all_of(conditions, [&labels](const LabelCondition& condition) {
    const auto found = std::ranges::find(labels, condition.key, &Labels::value_type::first);
    return condition.holds(found == labels.end() ? std::string_view() : found->second);
  });
}

std::string unknown_metric(std::string_view name, Catalogue catalogue) {
  std::vector<std::string> names;
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      names.emplace_back(metric.id);
      for (const SchemeName* scheme : {&metric.prometheus, &metric.otlp}) {
        if (!scheme->name.empty()) names.emplace_back(scheme->name);
      }
    }
  }
  for (const DerivedMetric& derived : kDerivedMetrics) names.emplace_back(derived.name);
  for (const DerivedMetric& derived : kIntervalDerived) names.emplace_back(derived.name);
  // What is measured of GPUs is not what is measured of CPUs, near as the names are.
  if (name.starts_with("gpu.")) {
    std::erase_if(names, [](const std::string& known) { return !known.starts_with("gpu."); });
  }
  const std::string shown = clean_text(name, 100);
  const std::string near = nearest(std::string(name.substr(0, 100)), names);
  return near.empty()
             ? fmt::format("there is no metric '{}'; `dyno metrics list` shows all", shown)
             : fmt::format(
                   "there is no metric '{}'; did you mean {}? `dyno metrics list` shows all", shown,
                   near);
}

Result<std::vector<NamedSeries>> select(const Selector& selector, Catalogue catalogue,
                                        const SeriesIndex& index) {
  std::vector<NamedSeries> found;
  const auto meant = candidates(selector.name, catalogue);
  std::optional<Error> refused;
  for (const Candidate& candidate : meant) {
    const auto conditions = own_conditions(candidate, selector.conditions);
    if (!conditions) {
      refused = conditions.error();
    } else if (*conditions) {
      append_matching(found, candidate, selector.name, **conditions, index);
    }
  }
  if (meant.empty()) append_forgotten(found, selector, index);
  if (found.empty()) {
    if (refused) return std::unexpected(std::move(*refused));
    if (meant.empty()) {
      return fail(ErrorKind::not_found, unknown_metric(selector.name, catalogue));
    }
    return fail(ErrorKind::not_found,
                fmt::format("no series of {} fulfils the conditions, or none was recorded yet; "
                            "`dyno metrics list {} --series` shows those that there are",
                            clean_text(selector.name, 100), meant.front().descriptor->id));
  }
  std::ranges::sort(found, labels_less);
  const auto repeated = std::ranges::unique(found, {}, &NamedSeries::number);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace dynolog::history
