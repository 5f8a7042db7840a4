// Sets of CPUs that somebody typed.
#include "base/cpu_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CpuSet, SinglesAndRangesSortedOnceEach) {
  EXPECT_THAT(*parse_cpu_set("8, 0-3,2,8191"), ElementsAre(0, 1, 2, 3, 8, 8191));
  EXPECT_THAT(*parse_cpu_set("0"), ElementsAre(0));
}

TEST(CpuSet, WhatIsNoSetIsSaid) {
  for (const char* text : {"", ",", "0,", "a", "3-1", "0-", "-1", "0-8192", "8192", "1.5", "0 1"}) {
    const auto cpus = parse_cpu_set(text);
    ASSERT_FALSE(cpus) << text;
    EXPECT_EQ(cpus.error().kind, ErrorKind::invalid);
    EXPECT_THAT(cpus.error().message, HasSubstr("such as 0-3,8")) << text;
  }
}

TEST(CpuSet, AListThatNeverEndsIsRefused) {
  std::string text = "0-8191";
  for (int i = 0; i < 10; ++i) text += ",0-8191";
  ASSERT_FALSE(parse_cpu_set(text));
}

}  // namespace
}  // namespace dynolog
