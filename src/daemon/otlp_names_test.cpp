// Every metric's name in OTLP against the semantic conventions: a name in their namespaces is one
// of theirs, with its instrument; what they have not is ours.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "collectors/all_collectors.h"
#include "sinks/otlp_conventions.h"

namespace dynolog {
namespace {

// Which have no name there, and why.
const std::map<std::string_view, std::string_view> kWithout = {
    {"cpu.time", "system.cpu.time is of all CPUs: both together would count twice"},
    {"cpu.guest_time", "as cpu.time"},
    {"host.time", "each point carries the time"},
    {"self.cpu_time", "process.cpu.time has the modes"},
    {"process.cpu_time", "pids come and go: for the history only"},
    {"process.resident_memory", "as process.cpu_time"},
    {"process.threads", "as process.cpu_time"},
    {"process.disk_io", "as process.cpu_time"},
    {"self.build", "service.version, an attribute of the resource"},
};

TEST(OtlpNames, AreTheConventionsOrOurs) {
  for (const CatalogueSection& section : metric_catalogue()) {
    for (const MetricDescriptor& metric : section.metrics) {
      const std::string_view name = metric.otlp.name;
      if (name.empty()) {
        EXPECT_TRUE(kWithout.contains(metric.id)) << metric.id << " has no name in OTLP";
        continue;
      }
      EXPECT_FALSE(kWithout.contains(metric.id)) << metric.id;
      if (name.starts_with("dynolog.")) continue;
      const Convention* convention = convention_of(name);
      ASSERT_NE(convention, nullptr)
          << metric.id << ": no semantic convention is named " << name << "; ours begin with "
          << "dynolog.";
      EXPECT_EQ(metric.kind == MetricKind::counter, convention->instrument == Instrument::counter)
          << metric.id << ": " << name << " is "
          << (metric.kind == MetricKind::counter ? "no" : "a") << " counter";
    }
  }
}

// Two metrics of ours that are one of theirs have to agree on what it is.
TEST(OtlpNames, OneNameIsOneKindOfThing) {
  std::map<std::string_view, const MetricDescriptor*> known;
  for (const CatalogueSection& section : metric_catalogue()) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (metric.otlp.name.empty()) continue;
      const auto [first, added] = known.emplace(metric.otlp.name, &metric);
      if (added) continue;
      EXPECT_EQ(first->second->kind, metric.kind) << metric.otlp.name;
      EXPECT_EQ(otlp_shape(*first->second).unit, otlp_shape(metric).unit) << metric.otlp.name;
      EXPECT_EQ(first->second->otlp.fixed_key, metric.otlp.fixed_key) << metric.otlp.name;
    }
  }
}

// docs/metrics.md tells apart what speaks of processes: this is what it says.
TEST(OtlpNames, ProcessesOfTheHostTheDaemonAndRanksAreToldApart) {
  std::map<std::string_view, int> seen;
  const auto is_of = [&seen](std::string_view prefix, std::string_view name,
                             const CatalogueSection& section, std::string_view wanted) {
    if (!name.starts_with(prefix)) return false;
    ++seen[prefix];
    EXPECT_EQ(section.name, wanted) << name;
    return true;
  };
  for (const CatalogueSection& section : metric_catalogue()) {
    for (const MetricDescriptor& metric : section.metrics) {
      if (is_of("process.", metric.id, section, "top")) {
        EXPECT_EQ(metric.otlp.name, "");
        EXPECT_EQ(metric.prometheus.name, "");
        EXPECT_EQ(metric.json.name, "");
      }
      is_of("process.", metric.otlp.name, section, "self");
      is_of("process_", metric.prometheus.name, section, "self");
      is_of("job.process.", metric.id, section, "jobs");
      is_of("dynolog_process_", metric.prometheus.name, section, "jobs");
    }
  }
  EXPECT_EQ(seen.size(), 4U) << "each of them is there";
  EXPECT_NE(metrics_page().find("Processes are spoken of in three ways."), std::string::npos);
}

}  // namespace
}  // namespace dynolog
