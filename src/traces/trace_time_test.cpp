// Times as text, and which of them tell wall time.
#include "traces/trace_time.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

TEST(NanosecondsOf, KeepsEveryDigit) {
  EXPECT_EQ(nanoseconds_of("0"), 0);
  EXPECT_EQ(nanoseconds_of("5163549617400.097"), 5'163'549'617'400'097);
  EXPECT_EQ(nanoseconds_of("1690000000123456"), 1'690'000'000'123'456'000);
  EXPECT_EQ(nanoseconds_of("1690000000123456.789"), 1'690'000'000'123'456'789);
  EXPECT_EQ(nanoseconds_of("2.5"), 2'500);
  EXPECT_EQ(nanoseconds_of("2.0629"), 2'062);
  EXPECT_EQ(nanoseconds_of("0.000999"), 0);
  EXPECT_EQ(nanoseconds_of("-3.25"), -3'250);
}

TEST(NanosecondsOf, OtherFormsOfANumber) {
  EXPECT_EQ(nanoseconds_of("1e3"), 1'000'000);
  EXPECT_EQ(nanoseconds_of("1.5E+2"), 150'000);
  EXPECT_EQ(nanoseconds_of("00000000000000000012"), 12'000);
}

TEST(NanosecondsOf, WhatIsNoTime) {
  for (const char* text :
       {"", "-", ".", "NaN", "nan", "Infinity", "-Infinity", "Inf", "1e300", "4000000000000001",
        "-4000000000000001", "123456789012345678901234567890", "99999999999999999999.5", "7x"}) {
    EXPECT_FALSE(nanoseconds_of(text).has_value()) << text;
  }
  EXPECT_EQ(nanoseconds_of("4000000000000000"), kMaxTraceNs);
  EXPECT_EQ(nanoseconds_of("-4000000000000000"), -kMaxTraceNs);
}

TEST(WallTime, NeedsABaseOrAbsoluteTimes) {
  EXPECT_EQ(wall_time(5, 1'790'857'026'000'000'000), 1'790'857'026'000'000'005);
  EXPECT_EQ(wall_time(1'690'000'000'000'000'000, std::nullopt), 1'690'000'000'000'000'000);
  EXPECT_FALSE(wall_time(5'163'549'617'400'097, std::nullopt).has_value());
  EXPECT_FALSE(wall_time(5, INT64_MAX).has_value());
}

}  // namespace
}  // namespace dynolog
