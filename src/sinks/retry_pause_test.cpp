// Pauses between attempts: their growth, their limits, and what the other side asks for.
#include "sinks/retry_pause.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kWhole = 1000;

RetryPause made() { return {milliseconds(1000), milliseconds(30'000), milliseconds(300'000)}; }

TEST(RetryPause, DoublesUpToTheLastAndBeginsAnew) {
  RetryPause pause = made();
  for (const int expected : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_EQ(pause.next({}, kWhole), milliseconds(1000 * expected));
  }
  pause.restart();
  EXPECT_EQ(pause.next({}, kWhole), milliseconds(1000));
}

TEST(RetryPause, IsSpread) {
  EXPECT_EQ(made().next({}, RetryPause::kLeastShare), milliseconds(800));
  EXPECT_EQ(made().next({}, RetryPause::kGreatestShare), milliseconds(1200));
  RetryPause tiny(milliseconds(1), milliseconds(1), milliseconds(1));
  EXPECT_EQ(tiny.next({}, RetryPause::kLeastShare), milliseconds(1)) << "never at once";
}

TEST(RetryPause, WhatIsAskedForIsTheLeast) {
  RetryPause pause = made();
  EXPECT_EQ(pause.next(milliseconds(7000), kWhole), milliseconds(7000));
  EXPECT_EQ(pause.next(milliseconds(0), kWhole), milliseconds(2000)) << "its own is longer";
  EXPECT_EQ(pause.next(milliseconds(7000), kWhole), milliseconds(7000)) << "it grew meanwhile";
  EXPECT_EQ(pause.next({}, kWhole), milliseconds(8000));
}

TEST(RetryPause, NobodyIsObeyedForEver) {
  EXPECT_EQ(made().next(milliseconds(86'400'000), kWhole), milliseconds(300'000));
}

}  // namespace
}  // namespace dynolog
