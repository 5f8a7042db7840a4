// How the wait before a new worker grows, and is forgiven.
#include "workers/back_off.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

TEST(BackOff, DoublesToItsLimitAndForgives) {
  BackOff back_off;
  MonotonicTime now{std::chrono::hours(1)};
  EXPECT_EQ(back_off.on_end(now), Nanoseconds::zero());
  EXPECT_EQ(back_off.on_end(now), Milliseconds(100));
  EXPECT_EQ(back_off.on_end(now), Milliseconds(200));
  Nanoseconds last{};
  for (int i = 0; i < 20; ++i) {
    const Nanoseconds wait = back_off.on_end(now);
    EXPECT_GE(wait, last);
    last = wait;
    now += wait;
  }
  EXPECT_EQ(last, std::chrono::seconds(30));
  now += std::chrono::minutes(2);
  EXPECT_EQ(back_off.on_end(now), Nanoseconds::zero());
}

}  // namespace
}  // namespace dynolog
