// The list of all metrics, written out.
#include "metrics/catalogue.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace dynolog {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

// A scheme's name with its labels: node_cpu_seconds_total{cpu,mode}.
std::string with_labels(const MetricDescriptor& metric, const SchemeName& scheme, bool otlp_keys) {
  if (scheme.name.empty()) return "";
  std::string labels;
  const auto add = [&labels](std::string_view label) {
    if (!labels.empty()) labels += ',';
    labels += label;
  };
  for (std::size_t i = 0; i < label_count(metric); ++i) {
    const LabelKey& label = metric.labels[i];
    if (folds(scheme.name, label.key)) continue;
    add(otlp_keys && !label.otlp.empty() ? label.otlp : label.key);
  }
  if (!scheme.fixed_key.empty()) add(fmt::format("{}={}", scheme.fixed_key, scheme.fixed_value));
  return labels.empty() ? std::string(scheme.name) : fmt::format("{}{{{}}}", scheme.name, labels);
}

// For a table's cell: code, and nothing that ends the cell.
std::string code_cell(std::string_view text) {
  if (text.empty()) return "";
  std::string cell = "`";
  for (const char letter : text) cell += letter == '|' ? '/' : letter;
  return cell + "`";
}

std::string_view form_text(IntervalForm form) {
  switch (form) {
    case IntervalForm::share:
    case IntervalForm::rest_share:
      return "percent";
    case IntervalForm::milliseconds:
      return "milliseconds";
    case IntervalForm::age:
      return "seconds";
  }
  return "";
}

Json to_json(const CatalogueSection& section, const MetricDescriptor& metric) {
  Json labels = Json::array();
  for (std::size_t i = 0; i < label_count(metric); ++i) labels.push_back(metric.labels[i].key);
  Json entry = {{"id", metric.id},
                {"collector", section.name},
                {"every", to_string(section.tier)},
                {"kind", to_string(metric.kind)},
                {"unit", to_string(metric.unit)},
                {"help", metric.help},
                {"source", metric.source},
                {"labels", std::move(labels)}};
  if (!metric.prometheus.name.empty()) {
    entry["prometheus"] = with_labels(metric, metric.prometheus, false);
  }
  if (!metric.otlp.name.empty()) entry["otlp"] = with_labels(metric, metric.otlp, true);
  if (!metric.json.name.empty()) entry["json"] = metric.json.name;
  return entry;
}

std::string list_as_json(Catalogue catalogue) {
  Json metrics = Json::array();
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) {
      metrics.push_back(to_json(section, metric));
    }
  }
  Json names = Json::array();
  for (const IntervalName& name : kIntervalNames) {
    names.push_back({{"json", name.name}, {"unit", form_text(name.form)}, {"help", name.help}});
  }
  Json derived = Json::array();
  for (const DerivedMetric& metric : kDerivedMetrics) {
    Json labels = Json::array();
    if (!metric.by.empty()) labels.push_back(metric.by);
    derived.push_back({{"id", metric.name},
                       {"unit", metric.unit},
                       {"help", metric.help},
                       {"labels", std::move(labels)}});
  }
  const Json list = {{"schema", kSchema},
                     {"metrics", std::move(metrics)},
                     {"interval_names", std::move(names)},
                     {"derived_metrics", std::move(derived)}};
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string list_catalogue(Catalogue catalogue, bool json) {
  if (json) return list_as_json(catalogue);
  std::string list;
  for (const CatalogueSection& section : catalogue) {
    list += fmt::format("{} (every {})\n", section.name, to_string(section.tier));
    for (const MetricDescriptor& metric : section.metrics) {
      list += fmt::format("  {:<28} {:<8} {:<10} {}\n", metric.id, to_string(metric.kind),
                          to_string(metric.unit), metric.help);
    }
  }
  list += "names of JSON lines that are sums or shares (every interval)\n";
  for (const IntervalName& name : kIntervalNames) {
    list +=
        fmt::format("  {:<28} {:<8} {:<10} {}\n", name.name, "", form_text(name.form), name.help);
  }
  list += "derived from the above when they are queried (dyno metrics query)\n";
  for (const DerivedMetric& metric : kDerivedMetrics) {
    list += fmt::format("  {:<28} {:<8} {:<10} {}\n", metric.name, "", metric.unit, metric.help);
  }
  return list;
}

std::string catalogue_page(Catalogue catalogue) {
  std::string page =
      "# Metrics\n\n"
      "Generated from the descriptors in the code; `./scripts/refresh-goldens` writes it anew.\n\n"
      "Collectors emit cumulative counters and gauges. Each sink chooses the names: Prometheus,\n"
      "OTLP (OpenTelemetry), and JSON lines. JSON lines give a counter as its increase over the\n"
      "interval and anything else as it is. A value that could not be read is absent, never 0.\n"
      "`dynolog --list_metrics` prints this list, `--json` as JSON.\n\n"
      "Processes are spoken of in three ways. The metrics `process.*` are the host's busiest\n"
      "processes (`top`), which the history alone keeps: no sink has a name for them. OTLP's\n"
      "`process.*` and Prometheus' `process_*` are what those conventions call the program that\n"
      "exports, so here the daemon itself (`self`). `job.process.*` and `dynolog_process_*` are\n"
      "the ranks of jobs (`jobs`).\n";
  for (const CatalogueSection& section : catalogue) {
    page += fmt::format("\n## {}\n\nRead every {}.\n\n", section.name, to_string(section.tier));
    page +=
        "| metric | kind | unit | what | source | Prometheus | OTLP | JSON lines |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (const MetricDescriptor& metric : section.metrics) {
      page += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", code_cell(metric.id),
                          to_string(metric.kind), to_string(metric.unit), metric.help,
                          metric.source, code_cell(with_labels(metric, metric.prometheus, false)),
                          code_cell(with_labels(metric, metric.otlp, true)),
                          code_cell(metric.json.name));
    }
  }
  page +=
      "\n## Sums and shares in JSON lines\n\nPer interval, under the names that users of dynolog "
      "know.\n\n| name | unit | what |\n| --- | --- | --- |\n";
  for (const IntervalName& name : kIntervalNames) {
    page +=
        fmt::format("| {} | {} | {} |\n", code_cell(name.name), form_text(name.form), name.help);
  }
  page +=
      "\n## Derived metrics\n\nComputed from the above when somebody queries the history; see "
      "[history.md](history.md).\n\n| name | unit | label | what |\n| --- | --- | --- | --- |\n";
  for (const DerivedMetric& metric : kDerivedMetrics) {
    page += fmt::format("| {} | {} | {} | {} |\n", code_cell(metric.name), metric.unit,
                        code_cell(metric.by), metric.help);
  }
  return page;
}

}  // namespace dynolog
