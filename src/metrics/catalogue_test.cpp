// The checks that the catalogue is compiled with.
#include "metrics/catalogue.h"

#include <gtest/gtest.h>

#include <array>

namespace dynolog {
namespace {

constexpr MetricDescriptor kGood{.id = "a.b",
                                 .help = "Something",
                                 .source = "/proc/x",
                                 .labels = {LabelKey{"device", ""}},
                                 .prometheus = {.name = "node_{device}_bytes"},
                                 .json = {.name = "bytes.{device}"}};

constexpr MetricDescriptor changed(auto change) {
  MetricDescriptor metric = kGood;
  change(metric);
  return metric;
}

static_assert(is_well_formed(kGood));
static_assert(!is_well_formed(changed([](auto& m) { m.help = ""; })));
static_assert(!is_well_formed(changed([](auto& m) { m.help = "Ends with a stop."; })));
static_assert(!is_well_formed(changed([](auto& m) { m.source = ""; })));
static_assert(!is_well_formed(changed([](auto& m) { m.prometheus.name = "node_{nic}_bytes"; })));
static_assert(!is_well_formed(changed([](auto& m) { m.prometheus.name = "node-bytes"; })));
static_assert(!is_well_formed(changed([](auto& m) { m.json.name = "bytes"; })),
              "JSON has no labels: two devices would have one name");

constexpr bool are_unique(const MetricDescriptor& second) {
  const std::array metrics = {kGood, second};
  const std::array sections = {CatalogueSection{"s", Tier::fast, metrics}};
  return has_unique_names(sections);
}

constexpr MetricDescriptor kOther{.id = "a.c", .help = "Other", .source = "/proc/y"};

constexpr MetricDescriptor other(auto change) {
  MetricDescriptor metric = kOther;
  change(metric);
  return metric;
}

static_assert(are_unique(kOther));
static_assert(!are_unique(other([](auto& m) { m.id = "a.b"; })));
static_assert(!are_unique(other([](auto& m) { m.prometheus.name = "node_{device}_bytes"; })));
static_assert(!are_unique(other([](auto& m) { m.json.name = "cpu_u"; })), "a sum's name is taken");
static_assert(are_unique(other([](auto& m) {
                m.prometheus = {
                    .name = "node_{device}_bytes", .fixed_key = "direction", .fixed_value = "rx"};
              })),
              "one family, told apart by a fixed label");

TEST(Catalogue, ThePageNamesEveryScheme) {
  static constexpr std::array kMetrics = {kGood};
  static constexpr std::array kSections = {CatalogueSection{"nic", Tier::medium, kMetrics}};
  const std::string page = catalogue_page(kSections);
  EXPECT_TRUE(page.contains("## nic\n\nRead every 10 s."));
  EXPECT_TRUE(
      page.contains("| `a.b` | gauge |  | Something | /proc/x | `node_{device}_bytes` |  | "
                    "`bytes.{device}` |"))
      << page;
}

}  // namespace
}  // namespace dynolog
