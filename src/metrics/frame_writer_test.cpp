// The frame and its series: opening, closing, absence, and increases over frames.
#include "metrics/frame_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "metrics/frame_rates.h"
#include "metrics/naming.h"

namespace dynolog {
namespace {

constexpr MetricDescriptor kBytes{.id = "test.bytes",
                                  .kind = MetricKind::counter,
                                  .help = "Bytes",
                                  .source = "test",
                                  .labels = {LabelKey{"device", ""}},
                                  .counter = {.backward_slack = 2}};
constexpr MetricDescriptor kGauge{.id = "test.gauge", .help = "A gauge", .source = "test"};

class FrameWriterTest : public testing::Test {
 protected:
  // One tick with one source, a second later.
  template <class Collect>
  const Frame& tick(Collect collect, const Status& status = {}) {
    now_ += std::chrono::seconds(1);
    writer_.begin_tick(WallTime(now_), MonotonicTime(now_));
    writer_.begin_source(0, MonotonicTime(now_));
    collect();
    writer_.end_source(status);
    return writer_.finish_tick();
  }
  [[nodiscard]] std::uint64_t absences(AbsentReason reason) const {
    return writer_.absences(0)[static_cast<std::size_t>(reason)];
  }

  Nanoseconds now_ = std::chrono::seconds(1000);
  FrameWriter writer_{2, 4};
};

TEST_F(FrameWriterTest, AValueStandsInItsSlot) {
  const Frame& frame = tick([&] { writer_.set(writer_.open(kBytes, {"eth0"}), 42); });
  ASSERT_EQ(frame.table()->size(), 1U);
  const Series& series = *frame.table()->at(0);
  EXPECT_EQ(series.descriptor, &kBytes);
  EXPECT_THAT(series.label_values, testing::ElementsAre("eth0"));
  EXPECT_EQ(frame.value(0), 42);
  EXPECT_TRUE(frame.reading_of(series).fresh);
  EXPECT_EQ(frame.reading_of(series).time, MonotonicTime(now_));
}

TEST_F(FrameWriterTest, ASeriesKeepsADescriptorThatIsNoConstant) {
  auto descriptor = std::make_shared<const MetricDescriptor>(
      MetricDescriptor{.id = "test.made", .help = "Made while it runs", .source = "test"});
  const std::weak_ptr<const MetricDescriptor> watched = descriptor;
  SeriesHandle handle;
  std::shared_ptr<const SeriesTable> table = tick([&] {
                                               handle = writer_.open(std::move(descriptor), {});
                                               writer_.set(handle, 1);
                                             }).table();
  tick([&] { writer_.close(handle); });
  ASSERT_NE(table->at(0), nullptr);
  EXPECT_EQ(table->at(0)->descriptor->id, "test.made") << "who still holds the table may look";
  table.reset();
  EXPECT_TRUE(watched.expired());
}

TEST_F(FrameWriterTest, TheTableIsReplacedOnlyWhenSeriesChange) {
  SeriesHandle handle;
  const auto first = tick([&] { handle = writer_.open(kBytes, {"eth0"}); }).table();
  EXPECT_EQ(tick([&] { writer_.set(handle, 1); }).table(), first);
  const auto second = tick([&] { writer_.close(handle); }).table();
  EXPECT_NE(second, first);
  EXPECT_NE(first->at(0), nullptr) << "who holds the old table still sees the series";
  EXPECT_EQ(second->at(0), nullptr);
  EXPECT_FALSE(handle.valid());
}

TEST_F(FrameWriterTest, ASlotsNextOwnerHasAnotherId) {
  SeriesHandle handle;
  const auto first = tick([&] { handle = writer_.open(kBytes, {"eth0"}); }).table();
  tick([&] { writer_.close(handle); });
  const auto again = tick([&] { handle = writer_.open(kBytes, {"eth0"}); }).table();
  ASSERT_EQ(again->size(), 1U);
  EXPECT_NE(again->at(0)->id, first->at(0)->id);
}

TEST_F(FrameWriterTest, WhatIsNotWrittenIsAbsent) {
  SeriesHandle a;
  SeriesHandle b;
  tick([&] {
    a = writer_.open(kBytes, {"a"});
    b = writer_.open(kBytes, {"b"});
    writer_.set(a, 1);
    writer_.set(b, 1);
  });
  const Frame& frame = tick([&] { writer_.set(b, 2); });
  EXPECT_EQ(frame.value(0), std::nullopt);
  EXPECT_EQ(frame.states()[0].reason(), AbsentReason::not_reported);
  EXPECT_EQ(frame.value(1), 2);
  EXPECT_EQ(absences(AbsentReason::not_reported), 1U);
}

TEST_F(FrameWriterTest, AnErrorIsTheReason) {
  SeriesHandle a;
  tick([&] { writer_.set(a = writer_.open(kGauge, {}), 1); });
  const Frame& frame = tick([] {}, fail(ErrorKind::invalid, "garbage"));
  EXPECT_EQ(frame.states()[0].reason(), AbsentReason::malformed);
  EXPECT_EQ(absences(AbsentReason::malformed), 1U);
}

TEST_F(FrameWriterTest, NoNumberIsImplausible) {
  const Frame& frame = tick(
      [&] { writer_.set(writer_.open(kGauge, {}), std::numeric_limits<double>::quiet_NaN()); });
  EXPECT_EQ(frame.states()[0].reason(), AbsentReason::implausible);
  EXPECT_EQ(absences(AbsentReason::implausible), 1U);
}

TEST_F(FrameWriterTest, TheLimitHoldsAndIsCounted) {
  tick([&] {
    for (const char* name : {"a", "b", "c", "d", "e"}) writer_.set(writer_.open(kBytes, {name}), 1);
  });
  EXPECT_EQ(absences(AbsentReason::limit), 1U);
  EXPECT_TRUE(writer_.take_open_error(0));
  EXPECT_FALSE(writer_.take_open_error(0)) << "said once";
}

TEST_F(FrameWriterTest, RefusesTheSameSeriesTwiceAndAWrongNumberOfLabels) {
  tick([&] {
    EXPECT_TRUE(writer_.open(kBytes, {"a"}).valid());
    EXPECT_FALSE(writer_.open(kBytes, {"a"}).valid());
    EXPECT_FALSE(writer_.open(kBytes, {}).valid());
    EXPECT_FALSE(writer_.open(kGauge, {"x"}).valid());
  });
}

TEST_F(FrameWriterTest, LabelsAreCleaned) {
  const Frame& frame = tick([&] { writer_.set(writer_.open(kBytes, {"a\nb\xff"}), 1); });
  EXPECT_EQ(frame.table()->at(0)->label_values[0],
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST_F(FrameWriterTest, ASourceThatWasNotReadKeepsItsValueAndIsNotFresh) {
  tick([&] { writer_.set(writer_.open(kGauge, {}), 5); });
  now_ += std::chrono::seconds(1);
  writer_.begin_tick(WallTime(now_), MonotonicTime(now_));
  const Frame& frame = writer_.finish_tick();
  EXPECT_EQ(frame.value(0), 5);
  EXPECT_FALSE(frame.sources()[0].fresh);
}

TEST_F(FrameWriterTest, IncreasesFollowTheSeriesNotTheSlot) {
  FrameRates rates(std::chrono::minutes(10));
  SeriesHandle handle;
  rates.update(tick([&] { writer_.set(handle = writer_.open(kBytes, {"eth0"}), 1000); }));
  EXPECT_EQ(rates.of(0).error(), NoIncrease::first);
  rates.update(tick([&] { writer_.set(handle, 1100); }));
  EXPECT_DOUBLE_EQ(rates.of(0)->amount, 100);
  rates.update(tick([&] {
    writer_.close(handle);
    writer_.set(handle = writer_.open(kBytes, {"eth1"}), 5000);
  }));
  EXPECT_EQ(rates.of(0).error(), NoIncrease::first) << "another device in the same slot";
}

TEST_F(FrameWriterTest, AnIncreaseSpansAnAbsence) {
  FrameRates rates(std::chrono::minutes(10));
  SeriesHandle handle;
  rates.update(tick([&] { writer_.set(handle = writer_.open(kBytes, {"eth0"}), 10); }));
  rates.update(tick([&] { writer_.absent(handle, AbsentReason::stale); }));
  EXPECT_FALSE(rates.of(0));
  rates.update(tick([&] { writer_.set(handle, 30); }));
  ASSERT_TRUE(rates.of(0));
  EXPECT_DOUBLE_EQ(rates.of(0)->per_second(), 10);
}

TEST_F(FrameWriterTest, NoiseDoesNotCountTwice) {
  FrameRates rates(std::chrono::minutes(10));
  SeriesHandle handle;
  double sum = 0;
  for (const double value : {100.0, 99.0, 100.0, 101.0}) {
    rates.update(tick([&] {
      if (!handle.valid()) handle = writer_.open(kBytes, {"eth0"});
      writer_.set(handle, value);
    }));
    if (rates.of(0)) sum += rates.of(0)->amount;
  }
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST(Naming, FoldsLabelsIntoTheName) {
  const Series series{SeriesId{1}, &kBytes, {"eth0"}, 0};
  EXPECT_EQ(expand_name("rx_bytes.{device}", series), "rx_bytes.eth0");
  EXPECT_EQ(expand_name("plain", series), "plain");
  EXPECT_TRUE(folds("node_{device}_bytes", "device"));
  EXPECT_FALSE(folds("node_{device}_bytes", "dev"));
}

}  // namespace
}  // namespace dynolog
