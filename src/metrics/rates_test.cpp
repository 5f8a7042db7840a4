// Increases of counters: resets, wraps, time.
#include "metrics/rates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dynolog {
namespace {

constexpr Reading at(double value, int ms) { return {value, MonotonicTime(Milliseconds(ms))}; }

constexpr RateRules plain() { return {}; }
constexpr RateRules bits(unsigned count) { return {.counter = {.bits = count}}; }

TEST(Rates, IncreaseAndRate) {
  const auto result = increase(at(100, 1000), at(350, 3500), plain());
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->amount, 250);
  EXPECT_DOUBLE_EQ(result->elapsed.count(), 2.5);
  EXPECT_DOUBLE_EQ(result->per_second(), 100);
}

TEST(Rates, NoChangeIsZeroNotAbsent) {
  const auto result = increase(at(7, 0), at(7, 1000), plain());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->amount, 0);
}

TEST(Rates, TheFirstReadingHasNone) {
  EXPECT_EQ(increase(std::nullopt, at(7, 1000), plain()).error(), NoIncrease::first);
}

TEST(Rates, AResetHasNone) {
  EXPECT_EQ(increase(at(5000, 0), at(3, 1000), plain()).error(), NoIncrease::reset);
  EXPECT_EQ(increase(at(5000, 0), at(4999, 1000), plain()).error(), NoIncrease::reset);
}

TEST(Rates, Wraps32Bits) {
  const auto result = increase(at(4294967290.0, 0), at(10, 1000), bits(32));
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->amount, 16);
}

TEST(Rates, A32BitCounterThatStartedAnewIsNoWrap) {
  EXPECT_EQ(increase(at(1'000'000, 0), at(10, 1000), bits(32)).error(), NoIncrease::reset);
  // Just past half the range: the increase would be the less likely explanation.
  const double half = std::ldexp(1.0, 31);
  EXPECT_EQ(increase(at(half, 0), at(0, 1000), bits(32)).error(), NoIncrease::reset);
  EXPECT_TRUE(increase(at(half + 1, 0), at(0, 1000), bits(32)));
}

TEST(Rates, ACounterAbove32BitsIsNone) {
  EXPECT_EQ(increase(at(5e9, 0), at(10, 1000), bits(32)).error(), NoIncrease::reset);
}

TEST(Rates, Wraps64Bits) {
  const double top = std::ldexp(1.0, 64);
  const auto result = increase(at(top - 8192, 0), at(8192, 1000), bits(64));
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->amount, 16384);
  EXPECT_EQ(increase(at(1e12, 0), at(5, 1000), bits(64)).error(), NoIncrease::reset);
}

TEST(Rates, WrapsWhereTheKernelCountsInSmallerUnits) {
  // Milliseconds in 32 bits, told in seconds.
  const RateRules rules{.counter = {.bits = 32, .scale = 1e-3}};
  const auto result = increase(at(4294967.0, 0), at(0.5, 1000), rules);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->amount, 0.796, 1e-6);
  EXPECT_EQ(increase(at(1000, 0), at(0.5, 1000), rules).error(), NoIncrease::reset);
}

TEST(Rates, SmallStepsBackAreNoise) {
  const RateRules rules{.counter = {.backward_slack = 3}};
  const auto result = increase(at(100, 0), at(97.5, 1000), rules);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->amount, 0);
  EXPECT_EQ(increase(at(100, 0), at(96, 1000), rules).error(), NoIncrease::reset);
}

TEST(Rates, TimeMustPass) {
  EXPECT_EQ(increase(at(1, 1000), at(2, 1000), plain()).error(), NoIncrease::no_time);
  EXPECT_EQ(increase(at(1, 1000), at(2, 900), plain()).error(), NoIncrease::no_time);
  const RateRules patient{.shortest = Milliseconds(10)};
  EXPECT_EQ(increase(at(1, 1000), at(2, 1009), patient).error(), NoIncrease::no_time);
  EXPECT_TRUE(increase(at(1, 1000), at(2, 1010), patient));
}

TEST(Rates, ALongGapIsNoInterval) {
  const RateRules rules{.longest = Milliseconds(5000)};
  EXPECT_TRUE(increase(at(1, 0), at(2, 5000), rules));
  EXPECT_EQ(increase(at(1, 0), at(2, 5001), rules).error(), NoIncrease::gap);
}

}  // namespace
}  // namespace dynolog
