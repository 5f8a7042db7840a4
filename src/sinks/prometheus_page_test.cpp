// Pages of frames made by hand: names, types, labels, numbers, and what is left out.
#include "sinks/prometheus_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "metrics/frame_writer.h"
#include "metrics/framework_series.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

constexpr std::array kCpu = {
    MetricDescriptor{.id = "cpu.time",
                     .kind = MetricKind::counter,
                     .help = "Time by mode",
                     .source = "t",
                     .labels = {LabelKey{"cpu", ""}, LabelKey{"mode", ""}},
                     .prometheus = {.name = "node_cpu_seconds_total"}},
    MetricDescriptor{.id = "odd.counter",
                     .kind = MetricKind::counter,
                     .help = "A counter without the suffix",
                     .source = "t",
                     .prometheus = {.name = "node_odd"}},
    MetricDescriptor{.id = "hidden", .help = "Not on the page", .source = "t"},
};
constexpr std::array kNet = {
    MetricDescriptor{.id = "memory",
                     .unit = Unit::bytes,
                     .help = "A field of memory",
                     .source = "t",
                     .labels = {LabelKey{"field", ""}},
                     .prometheus = {.name = "node_memory_{field}_bytes"}},
    MetricDescriptor{.id = "net",
                     .kind = MetricKind::counter,
                     .help = "A field of the network",
                     .source = "t",
                     .labels = {LabelKey{"field", ""}},
                     .prometheus = {.name = "node_netstat_{field}", .type_override = "untyped"}},
    MetricDescriptor{.id = "io",
                     .kind = MetricKind::counter,
                     .help = "Bytes received",
                     .source = "t",
                     .labels = {LabelKey{"device", ""}},
                     .prometheus = {.name = "dynolog_io_total",
                                    .fixed_key = "direction",
                                    .fixed_value = "receive"}},
    MetricDescriptor{.id = "gpu",
                     .help = "Of a GPU",
                     .source = "t",
                     .labels = {LabelKey{"gpu", ""}},
                     .prometheus = {.name = "DCGM_FI_DEV_GPU_UTIL"}},
};
constexpr std::array kSections = {CatalogueSection{"cpu", Tier::fast, kCpu},
                                  CatalogueSection{"net", Tier::fast, kNet},
                                  CatalogueSection{"framework", Tier::medium, kFrameworkMetrics}};

class PageTest : public testing::Test {
 protected:
  PageTest() {
    writer_.begin_tick({}, {});
    writer_.begin_source(0, {});
  }

  SeriesHandle put(const MetricDescriptor& metric, std::vector<std::string_view> labels,
                   double value) {
    SeriesHandle handle = writer_.open(metric, labels);
    EXPECT_TRUE(handle.valid());
    writer_.set(handle, value);
    return handle;
  }

  const Frame& frame() {
    writer_.end_source({});
    return writer_.finish_tick();
  }

  std::string text(const std::vector<std::string>& collectors = {}) {
    std::string page;
    page_.render(frame(), PageFormat::text, {.only = collectors}, page);
    return page;
  }

  FrameWriter writer_{1, 1000};
  PrometheusPage page_{kSections, {}, 1000};
};

TEST_F(PageTest, SortsFamiliesAndLines) {
  put(kCpu[0], {"1", "idle"}, 12.5);
  put(kNet[0], {"MemFree"}, 4096);
  put(kCpu[0], {"0", "idle"}, 0.01);
  put(kCpu[0], {"0", "user"}, 3);
  put(kCpu[2], {}, 1);
  EXPECT_EQ(text(),
            "# HELP node_cpu_seconds_total Time by mode\n"
            "# TYPE node_cpu_seconds_total counter\n"
            "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 0.01\n"
            "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 3\n"
            "node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} 12.5\n"
            "# HELP node_memory_MemFree_bytes A field of memory\n"
            "# TYPE node_memory_MemFree_bytes gauge\n"
            "node_memory_MemFree_bytes 4096\n");
}

TEST_F(PageTest, PartsOfAFamilyStandUnderItsHeader) {
  const auto made = [](std::string_view name, LabelKeys labels) {
    return std::make_shared<const MetricDescriptor>(MetricDescriptor{
        .id = name,
        .kind = MetricKind::counter,
        .help = "Waits",
        .source = "net",
        .labels = labels,
        .prometheus = {.name = name, .type_override = "histogram", .family = "w"}});
  };
  const std::array<std::string_view, 1> le = {"0.5"};
  writer_.set(writer_.open(made("w_sum", {}), {}), 7);
  writer_.set(writer_.open(made("w_bucket", {LabelKey{"le", ""}}), le), 3);
  const std::string whole = "# HELP w Waits\n# TYPE w histogram\nw_bucket{le=\"0.5\"} 3\nw_sum 7\n";
  const std::vector<std::string> of_net = {"net"};
  const std::vector<std::string> of_cpu = {"cpu"};
  EXPECT_EQ(text(of_net), whole) << "the descriptor's source is its collector";
  std::string page;
  page_.render(frame(), PageFormat::text, {.only = of_cpu}, page);
  EXPECT_EQ(page, "");
}

TEST_F(PageTest, WhatIsOfNoCollectorIsLeftOutByNone) {
  static constexpr MetricDescriptor kOfNone = {
      .id = "none", .help = "Of none", .source = "t", .prometheus = {.name = "of_none"}};
  put(kOfNone, {}, 1);
  put(kNet[0], {"MemFree"}, 4096);
  const std::vector<std::string> without = {"net"};
  std::string page;
  page_.render(frame(), PageFormat::text, {.without = without}, page);
  EXPECT_EQ(page, "# HELP of_none Of none\n# TYPE of_none gauge\nof_none 1\n");
}

TEST_F(PageTest, OpenMetricsNamesCountersWithoutTheirSuffix) {
  put(kCpu[0], {"0", "idle"}, 1);
  put(kCpu[1], {}, 2);
  put(kNet[1], {"Tcp_InSegs"}, 3);
  std::string page;
  page_.render(frame(), PageFormat::open_metrics, {}, page);
  EXPECT_EQ(page,
            "# HELP node_cpu_seconds Time by mode\n"
            "# TYPE node_cpu_seconds counter\n"
            "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1\n"
            "# HELP node_netstat_Tcp_InSegs A field of the network\n"
            "# TYPE node_netstat_Tcp_InSegs unknown\n"
            "node_netstat_Tcp_InSegs 3\n"
            "# HELP node_odd A counter without the suffix\n"
            "# TYPE node_odd unknown\n"
            "node_odd 2\n"
            "# EOF\n");
}

TEST_F(PageTest, AnOverriddenTypeAndAFixedLabel) {
  put(kNet[1], {"Tcp_InSegs"}, 3);
  put(kNet[2], {"eth0"}, 4);
  const std::string page = text();
  EXPECT_THAT(page, testing::HasSubstr("# TYPE node_netstat_Tcp_InSegs untyped\n"));
  EXPECT_THAT(page,
              testing::HasSubstr("dynolog_io_total{device=\"eth0\",direction=\"receive\"} 4\n"));
}

TEST_F(PageTest, AbsentValuesHaveNoLineAndClosedSeriesGo) {
  SeriesHandle idle = put(kCpu[0], {"0", "idle"}, 1);
  SeriesHandle user = put(kCpu[0], {"0", "user"}, 2);
  EXPECT_THAT(text(), testing::HasSubstr("mode=\"user\"} 2\n"));
  writer_.begin_tick({}, {});
  writer_.begin_source(0, {});
  writer_.set(idle, 3);
  writer_.absent(user, AbsentReason::unreadable);
  const std::string fewer = text();
  EXPECT_THAT(fewer, testing::HasSubstr("mode=\"idle\"} 3\n"));
  EXPECT_THAT(fewer, testing::Not(testing::HasSubstr("user")));
  writer_.begin_tick({}, {});
  writer_.begin_source(0, {});
  writer_.close(idle);
  writer_.absent(user, AbsentReason::unreadable);
  EXPECT_EQ(text(), "") << "no header without a line";
}

TEST_F(PageTest, ValuesOfSlowerSourcesStay) {
  put(kNet[0], {"MemFree"}, 5);
  const std::string first = text();
  writer_.begin_tick({}, {});  // nobody reads at this tick
  std::string second;
  page_.render(writer_.finish_tick(), PageFormat::text, {}, second);
  EXPECT_EQ(second, first);
}

TEST_F(PageTest, LabelsAreEscapedAndNamesSound) {
  put(kNet[2], {"a\\b\"c\nd\xff"}, 1);
  put(kNet[0], {"Active(anon)"}, 2);
  const std::string page = text();
  // A line end is a control character, which is cleaned where labels come in, as is bad UTF-8.
  EXPECT_THAT(page, testing::HasSubstr("{device=\"a\\\\b\\\"c\xEF\xBF\xBD"
                                       "d\xEF\xBF\xBD\",direction"));
  EXPECT_THAT(page, testing::HasSubstr("\nnode_memory_Active_anon__bytes 2\n"));
  std::string escaped;
  append_prometheus_escaped(escaped, "a\nb\\n\"");
  EXPECT_EQ(escaped, "a\\nb\\\\n\\\"");
}

TEST_F(PageTest, TwoOfTheSameNameMakeOneLine) {
  put(kNet[0], {"A(b"}, 1);
  put(kNet[0], {"A b"}, 2);
  EXPECT_THAT(text(), testing::EndsWith("gauge\nnode_memory_A_b_bytes 1\n"));
  EXPECT_EQ(page_.series(), 1U);
  EXPECT_EQ(page_.left_out(), 1U);
}

TEST_F(PageTest, SeriesPastTheLimitAreLeftOutAndCounted) {
  PrometheusPage small(kSections, {}, 2);
  for (const char* device : {"c", "a", "b"}) put(kNet[2], {device}, 1);
  std::string page;
  small.render(frame(), PageFormat::text, {}, page);
  EXPECT_THAT(page, testing::EndsWith("{device=\"a\",direction=\"receive\"} 1\n"
                                      "dynolog_io_total{device=\"b\",direction=\"receive\"} 1\n"));
  EXPECT_EQ(small.left_out(), 1U);
}

TEST_F(PageTest, OnlyTheFamiliesThatAreWanted) {
  put(kCpu[1], {}, 1);
  put(kNet[2], {"eth0"}, 2);
  put(kNet[3], {"0"}, 3);
  const Frame& full = frame();
  const auto names = [&](PrometheusFamilies wanted) {
    std::string page;
    PrometheusPage(kSections, wanted, 10).render(full, PageFormat::text, {}, page);
    return std::string(page.contains("node_odd 1") ? "n" : "") +
           (page.contains("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 3") ? "d" : "") +
           (page.contains("dynolog_io_total{") ? "o" : "");
  };
  EXPECT_EQ(names({}), "ndo");
  EXPECT_EQ(names({.node = false}), "do");
  EXPECT_EQ(names({.dcgm = false}), "no");
  EXPECT_EQ(names({.own = false}), "nd");
}

TEST_F(PageTest, OfChosenCollectorsAndAboutThem) {
  put(kCpu[1], {}, 1);
  put(kNet[2], {"eth0"}, 2);
  const MetricDescriptor& success = kFrameworkMetrics[1];
  ASSERT_EQ(success.id, "collector.success");
  put(success, {"cpu"}, 1);
  put(success, {"net"}, 0);
  const std::string page = text({"cpu"});
  EXPECT_THAT(page, testing::HasSubstr("node_odd 1\n"));
  EXPECT_THAT(page, testing::HasSubstr("node_scrape_collector_success{collector=\"cpu\"} 1\n"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("net")));
  EXPECT_TRUE(has_collector(kSections, "net"));
  EXPECT_FALSE(has_collector(kSections, "nett"));
}

TEST(PrometheusNumber, WholeOnesInFullAndOthersShortest) {
  const auto shown = [](double value) {
    std::string text;
    append_prometheus_number(text, value);
    return text;
  };
  EXPECT_EQ(shown(0), "0");
  EXPECT_EQ(shown(-0.0), "0");
  EXPECT_EQ(shown(-3), "-3");
  EXPECT_EQ(shown(0.1), "0.1");
  EXPECT_EQ(shown(1'700'000'000.25), "1700000000.25");
  EXPECT_EQ(shown(9'007'199'254'740'994), "9007199254740994") << "past 2^53";
  EXPECT_EQ(shown(1e18), "1000000000000000000");
  for (const double value : {18446744073709551615.0, 9.3e18, 1e300, 5e-324, 1.0 / 3,
                             std::numeric_limits<double>::max(), -std::sqrt(2.0)}) {
    EXPECT_EQ(std::strtod(shown(value).c_str(), nullptr), value) << shown(value);
  }
}

}  // namespace
}  // namespace dynolog
