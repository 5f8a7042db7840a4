// What adjtimex's answers mean.
#include "kernel/clock_sync.h"

#include <gtest/gtest.h>
#include <sys/timex.h>

namespace dynolog {
namespace {

TEST(ClockSync, BelievesOnlyAClockThatSomebodyVouchesFor) {
  const ClockSync kept = clock_sync_of(TIME_OK, STA_PLL | STA_NANO, 1500);
  EXPECT_TRUE(kept.synchronised);
  EXPECT_EQ(kept.largest_error, std::chrono::microseconds(1500));
  EXPECT_FALSE(clock_sync_of(TIME_ERROR, STA_PLL, 1500).synchronised);
  EXPECT_FALSE(clock_sync_of(TIME_OK, STA_UNSYNC, 1500).synchronised);
  EXPECT_FALSE(clock_sync_of(-1, 0, 0).synchronised);
}

TEST(ClockSync, ALeapSecondAheadIsNoError) {
  EXPECT_TRUE(clock_sync_of(TIME_INS, STA_INS, 10).synchronised);
}

TEST(ClockSync, NeverGivesANegativeError) {
  EXPECT_EQ(clock_sync_of(TIME_OK, 0, -5).largest_error, Nanoseconds(0));
}

// Whatever this host's clock is like, both ways of asking agree on it.
TEST(ClockSync, AsksTheKernel) {
  const auto sync = read_clock_sync();
  if (!sync) {
    EXPECT_FALSE(clock_error().has_value());
    GTEST_SKIP() << "adjtimex is refused here";
  }
  EXPECT_EQ(clock_error().has_value(), sync->synchronised);
  EXPECT_GE(sync->largest_error, Nanoseconds(0));
}

}  // namespace
}  // namespace dynolog
