// The table of collectors. To add one: a row here, and its metrics' row below.
#include "collectors/all_collectors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "collectors/cpu.h"
#include "collectors/load.h"
#include "collectors/self.h"
#include "metrics/framework_series.h"

namespace dynolog {
namespace {

struct CollectorRow {
  CatalogueSection section;  // its name and tier are the collector's
  std::unique_ptr<Collector> (*make)(const CollectorWorld& world);
};

constexpr std::array kCollectors = {
    CollectorRow{{"cpu", Tier::fast, kCpuMetrics},
                 [](const CollectorWorld& world) {
                   return make_cpu_collector(world.root, ::sysconf(_SC_CLK_TCK));
                 }},
    CollectorRow{{"load", Tier::fast, kLoadMetrics},
                 [](const CollectorWorld& world) { return make_load_collector(world.root); }},
    CollectorRow{{"self", Tier::medium, kSelfMetrics},
                 [](const CollectorWorld& world) {
                   return make_self_collector(world.root, world.read_counters,
                                              ::sysconf(_SC_PAGESIZE));
                 }},
};

constexpr auto kSections = [] {
  std::array<CatalogueSection, kCollectors.size() + 1> sections;
  std::ranges::transform(kCollectors, sections.begin(), &CollectorRow::section);
  sections.back() = {"framework", Tier::medium, kFrameworkMetrics};
  return sections;
}();

consteval bool has_unique_collectors() {
  for (std::size_t i = 0; i < kSections.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kSections[i].name == kSections[j].name) return false;
    }
  }
  return true;
}
static_assert(has_unique_collectors(), "two collectors have the same name");
static_assert(is_well_formed(kSections), "a metric lacks its help or has an unsound name");
static_assert(has_unique_names(kSections), "two metrics share an id or a name");
static_assert(serves_interval_names(kSections), "an interval name is of no metric");

}  // namespace

Result<std::vector<std::unique_ptr<Collector>>> make_collectors(
    const CollectorWorld& world, const std::vector<std::string>& disabled) {
  std::vector<std::string> names;
  for (const CollectorRow& row : kCollectors) names.emplace_back(row.section.name);
  for (const std::string& name : disabled) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string close = nearest(name, names);
    return fail(ErrorKind::invalid,
                fmt::format("there is no collector '{}'{}", name,
                            close.empty() ? std::string("; there are: ") +
                                                fmt::format("{}", fmt::join(names, ", "))
                                          : fmt::format(": did you mean '{}'?", close)));
  }
  std::vector<std::unique_ptr<Collector>> collectors;
  for (const CollectorRow& row : kCollectors) {
    if (std::ranges::find(disabled, row.section.name) == disabled.end())
      collectors.push_back(row.make(world));
  }
  return collectors;
}

Catalogue metric_catalogue() { return kSections; }

std::string list_metrics(bool json) { return list_catalogue(kSections, json); }

std::string metrics_page() { return catalogue_page(kSections); }

}  // namespace dynolog
