// Which series are known: those that are there, and of the others as many as there is room for.
#include "sinks/history/series_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "sinks/history/history_test_support.h"

namespace dynolog::history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class SeriesIndexTest : public testing::Test {
 protected:
  static Series series_of(const std::string& device) {
    return {
        .id = {}, .descriptor = find_metric(kTestSections, "net.bytes"), .label_values = {device}};
  }
  SeriesNumber add(const std::string& device, std::int64_t seen_ms) {
    const Series series = series_of(device);
    const SeriesNumber number = index_.number_of(series).value();
    index_.seen(number, seen_ms);
    return number;
  }

  SeriesIndex index_{100};
};

TEST_F(SeriesIndexTest, ForgetsWhatIsGoneAndOld) {
  const SeriesNumber old = add("eth0", 1000);
  const SeriesNumber young = add("eth1", 5000);
  const SeriesNumber live = add("eth2", 9000);
  EXPECT_THAT(index_.take_changed(), UnorderedElementsAre(old, young, live));
  index_.mark_gone(8000);
  EXPECT_THAT(index_.take_changed(), UnorderedElementsAre(old, young));
  index_.mark_gone(8000);
  EXPECT_THAT(index_.take_changed(), IsEmpty()) << "the store knows already";
  EXPECT_THAT(index_.forget(2000, 100), ElementsAre(old));
  EXPECT_EQ(index_.find(old), nullptr);
  EXPECT_TRUE(index_.find(young)->is_gone);
  EXPECT_FALSE(index_.find(live)->is_gone);
}

TEST_F(SeriesIndexTest, WhatIsBackIsNotForgotten) {
  const SeriesNumber back = add("eth0", 1000);
  add("eth1", 1000);
  index_.mark_gone(8000);
  static_cast<void>(index_.take_changed());
  EXPECT_EQ(add("eth0", 9000), back);
  EXPECT_THAT(index_.take_changed(), ElementsAre(back)) << "or the next daemon would forget it";
  EXPECT_THAT(index_.forget(kNever, 0), IsEmpty());
}

TEST_F(SeriesIndexTest, TheLongestGoneGoWhenTheyAreTooMany) {
  for (SeriesNumber i = 0; i < 6; ++i) add(std::string(1, static_cast<char>('a' + i)), 6000 - i);
  add("live", 9000);
  index_.mark_gone(8000);
  EXPECT_THAT(index_.forget(0, 4), ElementsAre(6, 5));
  EXPECT_THAT(index_.forget(0, 4), IsEmpty());
}

// Blocks name it: a later daemon must not give it to another series.
TEST_F(SeriesIndexTest, TheHighestNumberIsNotGivenAgain) {
  add("eth0", 1000);
  const SeriesNumber highest = add("eth1", 1000);
  index_.mark_gone(8000);
  EXPECT_THAT(index_.forget(kNever, 0), ElementsAre(1));
  SeriesIndex next(100);
  next.restore(highest, *index_.find(highest));
  EXPECT_GT(next.number_of(series_of("eth2")).value(), highest);
}

}  // namespace
}  // namespace dynolog::history
