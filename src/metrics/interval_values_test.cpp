// Sums over an interval of several frames: gaps, devices that go, and what a mean would spoil.
#include "metrics/interval_values.h"

#include <gtest/gtest.h>

#include <optional>

#include "metrics/frame_writer.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

constexpr MetricDescriptor kBytes{
    .id = "b", .kind = MetricKind::counter, .help = "t", .source = "t"};
constexpr MetricDescriptor kLoad{.id = "l", .help = "t", .source = "t"};
constexpr MetricDescriptor kLast = newest_only({.id = "n", .help = "t", .source = "t"});

class IntervalValuesTest : public testing::Test {
 protected:
  // nullopt: absent at this tick.
  void tick(std::optional<double> bytes, double load) {
    ++second_;
    writer_.begin_tick(WallTime(seconds(second_)), MonotonicTime(seconds(second_)));
    writer_.begin_source(0, MonotonicTime(seconds(second_)));
    if (!bytes_.valid()) bytes_ = writer_.open(kBytes, {});
    if (!load_.valid()) {
      load_ = writer_.open(kLoad, {});
      last_ = writer_.open(kLast, {});
    }
    if (bytes) writer_.set(bytes_, *bytes);
    writer_.set(load_, load);
    writer_.set(last_, load);
    writer_.end_source({});
    values_.add(writer_.finish_tick());
  }

  FrameWriter writer_{1, 100};
  IntervalValues values_{std::chrono::minutes(10), IntervalValues::Of::all};
  SeriesHandle bytes_, load_, last_;
  int second_ = 0;
};

TEST_F(IntervalValuesTest, IncreasesAddUpAndReadingsAreAveraged) {
  tick(100, 0.1);
  EXPECT_EQ(values_.increase(0), std::nullopt) << "nothing to compare with";
  EXPECT_EQ(values_.reading(1), 0.1);
  values_.restart();
  EXPECT_EQ(values_.reading(1), std::nullopt);
  tick(110, 1);
  tick(std::nullopt, 2);
  tick(150, 6);
  EXPECT_EQ(values_.increase(0), 50) << "what was absent for a tick is not lost";
  EXPECT_EQ(values_.reading(1), 3);
  EXPECT_EQ(values_.reading(2), 6) << "the newest";
  values_.restart();
  tick(151, 0.1);
  tick(152, 0.1);
  tick(153, 0.1);
  EXPECT_EQ(values_.increase(0), 3);
  EXPECT_EQ(values_.reading(1), 0.1) << "exactly";
}

TEST_F(IntervalValuesTest, AnIntervalWithAResetHasNoIncrease) {
  tick(100, 0);
  tick(110, 0);
  tick(5, 0);
  tick(10, 0);
  EXPECT_EQ(values_.increase(0), std::nullopt);
  values_.restart();
  tick(12, 0);
  EXPECT_EQ(values_.increase(0), 2);
}

TEST_F(IntervalValuesTest, WhatADeviceDidBeforeItWentIsKept) {
  tick(100, 0);
  tick(130, 0);
  writer_.begin_tick(WallTime(seconds(9)), MonotonicTime(seconds(9)));
  writer_.begin_source(0, MonotonicTime(seconds(9)));
  writer_.close(bytes_);
  writer_.set(load_, 4);
  writer_.end_source({});
  values_.add(writer_.finish_tick());
  ASSERT_EQ(values_.closed().size(), 1U);
  EXPECT_EQ(values_.closed()[0].series->descriptor->id, "b");
  EXPECT_EQ(values_.closed()[0].increase, 30);
  values_.restart();
  EXPECT_TRUE(values_.closed().empty());
  tick(1000, 4);
  EXPECT_EQ(values_.increase(0), std::nullopt) << "the slot's next owner begins anew";
}

TEST(ReportingInterval, IsCutFromWallTime) {
  ReportingInterval minute(seconds(60));
  EXPECT_TRUE(minute.is_due(WallTime(seconds(1000)))) << "the first frame: a sign of life";
  EXPECT_FALSE(minute.is_due(WallTime(seconds(1019))));
  EXPECT_TRUE(minute.is_due(WallTime(seconds(1020))));
  EXPECT_FALSE(minute.is_due(WallTime(seconds(1021))));
  EXPECT_TRUE(minute.is_due(WallTime(seconds(500)))) << "the clock was set";
  ReportingInterval every(seconds(1));
  EXPECT_TRUE(every.is_due(WallTime(seconds(1))));
  EXPECT_TRUE(every.is_due(WallTime(seconds(2))));
}

}  // namespace
}  // namespace dynolog
