// Text files of metrics: what they may say, and what they may not.
#include "metrics/prometheus_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<TextFamily> families(std::string_view text) {
  auto parsed = parse_prometheus_text(text, {});
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(*parsed) : std::vector<TextFamily>{};
}
std::string error(std::string_view text, const TextLimits& limits = {}) {
  const auto parsed = parse_prometheus_text(text, limits);
  return parsed ? "" : parsed.error().message;
}

TEST(PrometheusText, FamiliesWithAndWithoutWordsAboutThem) {
  const auto parsed = families(
      "# A comment, and an empty line:\n\n"
      "# HELP jobs Jobs\\nthat \\\\ wait \\t\n# TYPE jobs GAUGE\n"
      "jobs{queue=\"a\\\"b\\\\c\\nd\", state = \"w\" ,} 1e3\n"
      "plain -7\r\n"
      "  jobs { } +2.5\n");
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(parsed[0].help, "Jobs\nthat \\ wait \\t");
  EXPECT_EQ(parsed[0].type, "gauge");
  ASSERT_EQ(parsed[0].samples.size(), 2U);
  EXPECT_THAT(parsed[0].samples[0].labels,
              ElementsAre(Pair("queue", "a\"b\\c\nd"), Pair("state", "w")));
  EXPECT_EQ(parsed[0].samples[0].value, 1000);
  EXPECT_EQ(parsed[1].type, "untyped");
  EXPECT_EQ(parsed[1].samples[0].value, -7);
}

TEST(PrometheusText, NumbersOfAllKinds) {
  const auto parsed = families("a NaN\na{x=\"1\"} +Inf\na{x=\"2\"} -inf\na{x=\"3\"} .5\n");
  EXPECT_TRUE(std::isnan(parsed[0].samples[0].value));
  EXPECT_EQ(parsed[0].samples[2].value, -INFINITY);
  EXPECT_EQ(parsed[0].samples[3].value, 0.5);
  for (const char* number : {"", "x", "1x", "--1", "+-1", "0x1", "1 2 3", "nano"}) {
    EXPECT_THAT(error(std::string("a ") + number + "\n"), HasSubstr("line 1")) << number;
  }
}

TEST(PrometheusText, PartsOfHistogramsAndSummaries) {
  const auto parsed = families(
      "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n"
      "# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_sum 2\ns_count 1\ns_bucket 9\n"
      "# TYPE c counter\nc_count 4\n");
  ASSERT_EQ(parsed.size(), 4U);
  EXPECT_EQ(parsed[0].name, "h");
  EXPECT_EQ(parsed[0].samples.size(), 4U);
  EXPECT_EQ(parsed[1].samples.size(), 3U);
  EXPECT_EQ(parsed[2].name, "s_bucket");
  EXPECT_EQ(parsed[3].name, "c_count") << "a counter has no parts, and is empty itself";
}

TEST(PrometheusText, WhatIsWrongIsNamed) {
  EXPECT_THAT(error("a 1\nb 2 1700000000000\n"), HasSubstr("line 2: a timestamp"));
  EXPECT_THAT(error("a 1\nb 2"), HasSubstr("line 2: does not end"));
  EXPECT_THAT(error("# HELP a x\n# HELP a y\na 1\n"), HasSubstr("second HELP"));
  EXPECT_THAT(error("a 1\n# TYPE a gauge\n"), HasSubstr("after its samples"));
  EXPECT_THAT(error("# TYPE a gauge\n# TYPE a gauge\n"), HasSubstr("second TYPE"));
  EXPECT_THAT(error("# TYPE a nonsense\n"), HasSubstr("no type"));
  EXPECT_THAT(error("# TYPE 1a gauge\n"), HasSubstr("no name"));
  EXPECT_THAT(error("9a 1\n"), HasSubstr("no name"));
  EXPECT_THAT(error("a{x=1} 1\n"), HasSubstr("quotes"));
  EXPECT_THAT(error("a{x=\"1} 1\n"), HasSubstr("does not end"));
  EXPECT_THAT(error("a{x=\"1\\\n"), HasSubstr("does not end"));
  EXPECT_THAT(error("a{x=\"\\t\"} 1\n"), HasSubstr("backslash"));
  EXPECT_THAT(error("a{x=\"1\" y=\"2\"} 1\n"), HasSubstr("neither"));
  EXPECT_THAT(error("a{x=\"1\",x=\"2\"} 1\n"), HasSubstr("twice"));
  EXPECT_THAT(error("a{__name__=\"b\"} 1\n"), HasSubstr("label"));
  EXPECT_THAT(error("a{x} 1\n"), HasSubstr("="));
  EXPECT_THAT(error("a{x=\"1\"\n"), HasSubstr("neither"));
}

TEST(PrometheusText, ThereIsALimitOnEverything) {
  EXPECT_THAT(error("a 1\na 2\na 3\n", {.samples = 2}), HasSubstr("line 3: too many samples"));
  EXPECT_THAT(error("a{x=\"\",y=\"\"} 1\n", {.labels = 1}), HasSubstr("too many labels"));
  EXPECT_THAT(error("abc 1\n", {.name_bytes = 2}), HasSubstr("too long"));
  EXPECT_THAT(error("a{x=\"123\"} 1\n", {.value_bytes = 2}), HasSubstr("too long"));
  EXPECT_THAT(error("# HELP a b\n# HELP c d\n# HELP e f\n", {.samples = 2}),
              HasSubstr("too many families"));
}

}  // namespace
}  // namespace dynolog
