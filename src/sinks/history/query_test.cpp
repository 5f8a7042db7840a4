// Questions to a history whose figures are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sinks/history/column.h"
#include "sinks/history/history_test_support.h"

namespace dynolog::history {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Pair;
using ::testing::SizeIs;

const std::string kEth0 = "net.bytes{device=\"eth0\"}";

class QueryTest : public testing::Test {
 protected:
  TestHost host_;
  KeptHistory history_;
};

TEST_F(QueryTest, CountersAreRatesAndGaugesAreMeans) {
  history_.run(host_, 100);
  EXPECT_THAT(history_.values({.selector = kEth0}, 60, 10), AllOf(SizeIs(6), Each(1000)));
  EXPECT_THAT(history_.values({.selector = "memory.field"}, 20, 10), ElementsAre(184.5, 194.5));
}

TEST_F(QueryTest, FormsAndFolds) {
  history_.run(host_, 100);
  const auto gauge = [this](Fold fold) {
    return history_.values({.selector = "memory.field", .fold = fold}, 10, 10);
  };
  EXPECT_THAT(gauge(Fold::min), ElementsAre(190));
  EXPECT_THAT(gauge(Fold::max), ElementsAre(199));
  EXPECT_THAT(gauge(Fold::last), ElementsAre(199));
  EXPECT_THAT(history_.values({.selector = kEth0, .value = Value::raw}, 10, 10),
              ElementsAre(99'000));
  EXPECT_THAT(history_.values({.selector = kEth0, .value = Value::increase}, 10, 10),
              ElementsAre(10'000));
  EXPECT_THAT(history_.problem({.selector = "memory.limit", .value = Value::rate}),
              HasSubstr("no counter"));
}

TEST_F(QueryTest, DerivedMetrics) {
  history_.run(host_, 70);
  EXPECT_THAT(history_.values({.selector = "cpu.utilization"}, 60, 10),
              AllOf(SizeIs(6), Each(testing::DoubleNear(30, 1e-9))));
  EXPECT_THAT(history_.values({.selector = "cpu.utilization", .fold = Fold::max}, 60, 30),
              AllOf(SizeIs(3), Each(testing::DoubleNear(30, 1e-9))));
  EXPECT_THAT(history_.values({.selector = "memory.utilization"}, 10, 10), ElementsAre(75));
  EXPECT_THAT(history_.values({.selector = "cpu.share{mode=idle}"}, 10, 10),
              ElementsAre(testing::DoubleNear(50, 1e-9)));
  EXPECT_THAT(history_.problem({.selector = "cpu.utilization{cpu=0}"}),
              HasSubstr("no label 'cpu'"));
}

TEST_F(QueryTest, LabelsToGroupByAreBounded) {
  history_.run(host_, 70);
  const auto by = [](std::size_t labels) {
    return Expression{.selector = "cpu.time.all",
                      .join = Join::sum,
                      .by = std::vector<std::string>(labels, "mode")};
  };
  EXPECT_EQ(history_.problem(by(16)), "");
  EXPECT_EQ(history_.problem(by(17)), "at most 16 labels to group by");
}

TEST_F(QueryTest, TimesThatAreNoneAreRefused) {
  history_.run(host_, 70);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t odd : {kLeast, kLeast + 1, std::int64_t{-1}, kMost}) {
    for (auto member : {&Question::begin_ms, &Question::end_ms, &Question::last_ms}) {
      Question question{.expressions = {{.selector = "memory.limit"}}};
      question.*member = odd;
      const auto result = history_.ask(question);
      ASSERT_FALSE(result) << odd;
      EXPECT_THAT(result.error().message, HasSubstr("before 1970, or too far in the future"));
    }
  }
}

TEST_F(QueryTest, NobodyWaitsForAnAnswerAtTheEnd) {
  history_.run(host_, 70);
  int looks = 0;
  history_.is_over = [&looks] { return ++looks == 2; };
  const auto result = history_.ask(
      {.expressions = {{.selector = "memory.limit"}, {.selector = "memory.available"}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::unavailable);
}

// 30 % user, 20 % iowait, 50 % idle.
TEST_F(QueryTest, NamesOfJsonLinesAreTakenForSharesToo) {
  history_.run(host_, 100);
  const auto one = [this](const char* name) { return history_.values({.selector = name}, 10, 10); };
  EXPECT_THAT(one("cpu_u"), ElementsAre(testing::DoubleNear(30, 1e-9)));
  EXPECT_THAT(one("cpu_util"), ElementsAre(testing::DoubleNear(50, 1e-9)));
  EXPECT_THAT(one("cpu_w_ms"), ElementsAre(testing::DoubleNear(2000, 1e-6)));
  EXPECT_THAT(history_.values({.selector = "uptime"}, 2, 1), ElementsAre(148, 149));
  EXPECT_THAT(one("uptime"), ElementsAre(50 + 94.5)) << "the mean of 90 to 99";
  EXPECT_THAT(history_.problem({.selector = "cpu_ux"}), HasSubstr("did you mean cpu_u"));
}

TEST_F(QueryTest, NoShareIsMoreThanTheWhole) {
  host_.keep_all_cpus_busy();
  history_.run(host_, 100);
  EXPECT_THAT(history_.values({.selector = "cpu.utilization"}, 90, 1),
              AllOf(SizeIs(90), Each(100)));
}

TEST_F(QueryTest, NamesOfEverySchemeAreTaken) {
  history_.run(host_, 20);
  for (const char* name :
       {"net.bytes{device=eth0}", "node_network_receive_bytes_total{device=\"eth0\"}",
        "system.network.io{network.interface.name=eth0,network.io.direction=receive}",
        "memory.field{field=~\"Mem.*\"}", "node_memory_MemFree_bytes"}) {
    EXPECT_THAT(history_.values({.selector = name}, 10, 10), SizeIs(1)) << name;
  }
  EXPECT_THAT(history_.problem({.selector = "net.byte"}), HasSubstr("did you mean net.bytes?"));
  EXPECT_THAT(history_.problem({.selector = "net.bytes{dev=eth0}"}),
              HasSubstr("net.bytes has no label 'dev'; it has: device"));
  EXPECT_THAT(history_.problem({.selector = "net.bytes{device=x}"}), HasSubstr("no series"));
  EXPECT_THAT(history_.problem({.selector = "system.network.io{network.io.direction=transmit}"}),
              HasSubstr("no series"));
}

TEST_F(QueryTest, SeriesArePutTogether) {
  history_.run(host_, 20);
  EXPECT_THAT(history_.values({.selector = "net.bytes", .join = Join::sum}, 10, 10),
              ElementsAre(3000));
  EXPECT_THAT(history_.values({.selector = "net.bytes", .join = Join::mean}, 10, 10),
              ElementsAre(1500));
  EXPECT_THAT(history_.values({.selector = "net.bytes", .join = Join::count}, 10, 10),
              ElementsAre(2));
  const auto by = history_.ask(
      {.expressions = {{.selector = "net.bytes", .join = Join::max, .by = {"device"}}}});
  ASSERT_TRUE(by);
  ASSERT_EQ(by->results[0].series.size(), 2U);
  EXPECT_THAT(by->results[0].series[1].labels, ElementsAre(Pair("device", "eth1")));
  EXPECT_EQ(by->results[0].unit, "bytes/s");
  EXPECT_THAT(history_.problem({.selector = "net.bytes", .by = {"device"}}), HasSubstr("sum"));
  EXPECT_THAT(history_.problem({.selector = "net.bytes", .join = Join::sum, .by = {"x"}}),
              HasSubstr("has a label 'x'"));
}

TEST_F(QueryTest, AResetIsNoRate) {
  history_.run(host_, 60);
  host_.reset_eth0();
  history_.run(host_, 40);
  const auto values = history_.values({.selector = kEth0}, 100, 1);
  std::size_t absent = 0;
  for (const double value : values) {
    if (std::isnan(value)) {
      ++absent;
    } else {
      EXPECT_EQ(value, 1000);
    }
  }
  EXPECT_EQ(absent, 2U);  // the first second, and that of the reset
}

TEST_F(QueryTest, ADeviceThatWentIsAbsentSinceThen) {
  history_.run(host_, 45);
  host_.remove_eth1();
  history_.run(host_, 60);
  const auto values = history_.values({.selector = "net.bytes{device=eth1}"}, 90, 10);
  ASSERT_EQ(values.size(), 10U);  // from the 10th second to the 105th
  EXPECT_THAT(std::vector(values.begin(), values.begin() + 4), Each(2000));
  EXPECT_THAT(std::vector(values.begin() + 4, values.end()), Each(IsNan()));
}

TEST_F(QueryTest, SlowerSourcesFillTheTimeBetweenTheirReadings) {
  history_.run(host_, 100);
  const auto rates = history_.values({.selector = "slow.count"}, 50, 1);
  EXPECT_THAT(rates, AllOf(SizeIs(50), Each(7)));
  const auto levels = history_.values({.selector = "slow.level"}, 20, 5);
  EXPECT_THAT(levels, ElementsAre(80, 80, 90, 90));
}

TEST_F(QueryTest, TheNewestValueAlone) {
  history_.run(host_, 65);
  const auto result = history_.ask({.expressions = {{.selector = "cpu.utilization"},
                                                    {.selector = "slow.count"},
                                                    {.selector = "memory.limit"}},
                                    .newest_only = true});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->results.size(), 3U);
  EXPECT_THAT(result->results[0].series[0].values, ElementsAre(testing::DoubleNear(30, 1e-9)));
  EXPECT_THAT(result->results[1].series[0].values, ElementsAre(7));
  EXPECT_THAT(result->results[2].series[0].values, ElementsAre(1000));
  EXPECT_EQ(result->begin_ms, host_.now_ms() - 1000) << "the time of the newest";
  EXPECT_EQ(result->results[2].series[0].newest_ms, result->begin_ms);
  EXPECT_LT(result->results[1].series[0].newest_ms, result->begin_ms) << "read each 10 s";
}

TEST_F(QueryTest, TheNewestValueOfAClosedSeriesIsOfThen) {
  history_.run(host_, 45);
  const std::int64_t then = host_.now_ms();
  host_.remove_eth1();
  history_.run(host_, 20);
  const auto result =
      history_.ask({.expressions = {{.selector = "net.bytes"}}, .newest_only = true});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->results[0].series.size(), 2U);
  EXPECT_GT(result->results[0].series[0].newest_ms, then);
  EXPECT_EQ(result->begin_ms, result->results[0].series[0].newest_ms);
  EXPECT_LE(result->results[0].series[1].newest_ms, then);
}

TEST_F(QueryTest, WithoutAnyValueTheOneStepIsTheLast) {
  history_.run(host_, 10);
  Question question{
      .expressions = {{.selector = "no.such.metric"}}, .newest_only = true, .absent_ok = true};
  question.end_ms = host_.now_ms() + 500;
  const auto result = history_.ask(question);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->begin_ms, host_.now_ms());
}

TEST_F(QueryTest, WhatIsNotThereIsAnErrorOrEmpty) {
  history_.run(host_, 65);
  Question question{.expressions = {{.selector = "no.such.metric"}, {.selector = "memory.limit"}}};
  EXPECT_FALSE(history_.ask(question));
  question.absent_ok = true;
  question.newest_only = true;
  const auto result = history_.ask(question);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->results.size(), 2U);
  EXPECT_EQ(result->results[0].selector, "no.such.metric");
  EXPECT_TRUE(result->results[0].series.empty());
  EXPECT_EQ(result->results[1].series.size(), 1U);
}

TEST_F(QueryTest, LongStretchesAreAnsweredFromMinutes) {
  history_.run(host_, 3 * 3600 + 600);
  const std::int64_t last = 3LL * 3600;
  EXPECT_THAT(history_.values({.selector = kEth0}, last, 300), AllOf(SizeIs(36), Each(1000)));
  EXPECT_THAT(history_.values({.selector = kEth0, .fold = Fold::max}, last, 300), Each(1000));
  EXPECT_THAT(history_.values({.selector = "cpu.utilization"}, last, 300),
              Each(testing::DoubleNear(30, 0.01)));
  const auto least = history_.values({.selector = "memory.field", .fold = Fold::min}, last, 3600);
  const auto most = history_.values({.selector = "memory.field", .fold = Fold::max}, last, 3600);
  ASSERT_EQ(least.size(), 4U);
  EXPECT_EQ(least[1], 100 + 3600);
  EXPECT_EQ(most[1], 100 + 7199);
  const auto sum = history_.values({.selector = kEth0, .value = Value::increase}, last, 3600);
  EXPECT_EQ(sum[1], 3'600'000);
  EXPECT_GT(history_.keeper().minutes_until_ms(), 0);
}

// The clock is set an hour back, and later two hours ahead: rates stay what they are.
TEST_F(QueryTest, SettingTheClockChangesNoRate) {
  history_.run(host_, 100);
  host_.set_clock(-std::chrono::hours(1));
  history_.run(host_, 100);
  EXPECT_THAT(history_.values({.selector = kEth0}, 90, 10), AllOf(SizeIs(9), Each(1000)));
  host_.set_clock(std::chrono::hours(2));
  history_.run(host_, 400);
  EXPECT_THAT(history_.values({.selector = kEth0}, 300, 10), AllOf(SizeIs(30), Each(1000)));
}

TEST_F(QueryTest, LimitsSayWhatToAskInstead) {
  history_.run(host_, 10);
  EXPECT_THAT(history_
                  .ask({.expressions = {{.selector = kEth0}},
                        .last_ms = 24LL * 3600 * 1000,
                        .begin_ms = {},
                        .end_ms = {},
                        .step_ms = 1000})
                  .error()
                  .message,
              HasSubstr("longer step"));
  EXPECT_THAT(history_.ask({}).error().message, HasSubstr("no metric"));
  EXPECT_THAT(
      history_
          .ask({.expressions = {{.selector = kEth0}}, .last_ms = {}, .begin_ms = 5, .end_ms = 3})
          .error()
          .message,
      HasSubstr("before it ends"));
  Question future{.expressions = {{.selector = kEth0}}, .newest_only = true};
  future.end_ms = host_.now_ms() + 3'600'000;
  EXPECT_THAT(history_.ask(future).error().message, HasSubstr("in the future"));
  EXPECT_THAT(history_.problem({.selector = "rate(net.bytes[5m])"}),
              HasSubstr("functions are not taken"));
  EXPECT_THAT(history_.problem({.selector = "gpu.utilization"}),
              testing::Not(HasSubstr("did you mean")));
  Question many;
  many.expressions.assign(65, {.selector = kEth0});
  EXPECT_EQ(history_.ask(many).error().kind, ErrorKind::exhausted);
}

}  // namespace
}  // namespace dynolog::history
