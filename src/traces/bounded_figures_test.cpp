// What happens to the figures beyond the limits of memory: they become estimates, and say so.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "traces/gpu_activity.h"
#include "traces/interval_union.h"
#include "traces/name_times.h"
#include "traces/operator_times.h"

namespace dynolog {
namespace {

using ::testing::SizeIs;

TEST(IntervalUnion, CoarseningClosesTheShortestGapsAndKeepsTheSum) {
  IntervalUnion stretches;
  std::int64_t at = 0;
  for (std::int64_t gap = 1; gap <= 101; ++gap) {
    stretches.add(at, at + 10);
    at += 10 + (gap == 50 ? 5'000 : gap);
  }
  stretches.settle();
  ASSERT_EQ(stretches.size(), 101U);
  const auto before = stretches.within(0, at);
  stretches.coarsen();
  EXPECT_EQ(stretches.size(), 51U);
  EXPECT_TRUE(stretches.coarse());
  const auto after = stretches.within(0, at);
  EXPECT_EQ(after.covered_ns, before.covered_ns);
  EXPECT_EQ(after.longest_gap_ns, 5'000);
  EXPECT_EQ(after.longest_gap_start, before.longest_gap_start);
}

TEST(IntervalUnion, EqualGapsAreHalvedToo) {
  IntervalUnion stretches;
  for (std::int64_t i = 0; i < 1001; ++i) stretches.add(i * 20, i * 20 + 10);
  stretches.settle();
  stretches.coarsen();
  EXPECT_EQ(stretches.size(), 501U);
  EXPECT_EQ(stretches.within(0, 20'010).longest_gap_ns, 10);
  EXPECT_EQ(stretches.within(0, 20'010).covered_ns, 10'010);
}

TEST(IntervalUnion, AnyOrderGivesTheSame) {
  std::mt19937 random(1);
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (std::int64_t i = 0; i < 30'000; ++i) all.emplace_back(i * 7, i * 7 + 3 + i % 9);
  IntervalUnion in_order;
  for (const auto& [start, end] : all) in_order.add(start, end);
  std::shuffle(all.begin(), all.end(), random);
  IntervalUnion shuffled;
  for (const auto& [start, end] : all) {
    shuffled.add(start, end);
    if (shuffled.due()) shuffled.settle();
  }
  in_order.settle();
  shuffled.settle();
  EXPECT_EQ(shuffled.size(), in_order.size());
  EXPECT_EQ(shuffled.within(100, 200'000).covered_ns, in_order.within(100, 200'000).covered_ns);
  EXPECT_EQ(shuffled.within(0, 300'000).longest_gap_ns, in_order.within(0, 300'000).longest_gap_ns);
}

TEST(IntervalUnion, WhatFallsIntoAJoinedGapCounts) {
  IntervalUnion stretches;
  for (std::int64_t i = 0; i < 1'000; ++i) stretches.add(i * 100, i * 100 + 10);
  stretches.settle();
  for (int halvings = 0; halvings < 8; ++halvings) stretches.coarsen();
  for (std::int64_t i = 0; i < 1'000; ++i) stretches.add(i * 100 + 50, i * 100 + 60);
  stretches.settle();
  EXPECT_EQ(stretches.within(0, 100'000).covered_ns, 20'000);
  EXPECT_NEAR(static_cast<double>(stretches.within(0, 50'000).covered_ns), 10'000, 200);
}

TEST(GpuActivity, BeyondTheLimitTheBusyTimeIsAnEstimate) {
  constexpr auto kWork = static_cast<std::int64_t>(GpuActivity::kMaxStretches) + 100'000;
  GpuActivity gpus;
  for (std::int64_t i = 0; i < kWork; ++i) {
    const std::int64_t start = i * 1'000 + (i > kWork / 2 ? 77'000 : 0);
    gpus.add(0, start, start + 400 + i % 500, GpuActivity::Kind::computation);
  }
  gpus.finish();
  EXPECT_TRUE(gpus.coarse());
  const auto times = gpus.within(0, kWork * 1'000 + 77'000);
  ASSERT_THAT(times, SizeIs(1));
  const double busy = static_cast<double>(kWork) * 649.5e-9;
  EXPECT_NEAR(times[0].busy_s, busy, busy * 0.01);
  EXPECT_NEAR(times[0].longest_gap_s, 77e-6, 1e-6);
}

TEST(GpuActivity, WithinTheLimitItIsExact) {
  GpuActivity gpus;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    gpus.add(0, i * 10, i * 10 + 4, GpuActivity::Kind::communication);
  }
  gpus.finish();
  EXPECT_FALSE(gpus.coarse());
  EXPECT_DOUBLE_EQ(gpus.within(0, 1'000'000)[0].communication_s, 400'000e-9);
}

TEST(NameTimes, BeyondTheLimitNewNamesAreNotTold) {
  NameTimes names;
  for (std::size_t i = 0; i < NameTimes::kMaxNames; ++i) {
    names.add_count(names.index_of(fmt::format("name{}", i)));
  }
  EXPECT_FALSE(names.overflowed());
  const auto beyond = names.index_of("one more");
  names.add_count(beyond);
  names.add_time(beyond, 1'000'000);
  names.add_time(names.index_of("name7"), 5);
  EXPECT_TRUE(names.overflowed());
  EXPECT_EQ(names.top(1).at(0).name, "name7");
}

TEST(NameTimes, SumsDoNotOverflow) {
  NameTimes names;
  const auto index = names.index_of("a");
  for (int i = 0; i < 10; ++i) names.add_time(index, INT64_MAX);
  EXPECT_GT(names.top(1).at(0).self_s, 9e9);
}

std::int64_t self_ns(const OperatorTimes& operators, std::string_view name) {
  for (const NameTime& time : operators.names().top(100)) {
    if (time.name == name) return static_cast<std::int64_t>(time.self_s * 1e9 + 0.5);
  }
  return -1;
}

// One operator around all, and many inside it.
void add_nested(OperatorTimes& operators, std::int64_t inner, bool outer_first) {
  if (outer_first) operators.add(1, 0, inner * 10, "outer");
  for (std::int64_t i = 0; i < inner; ++i) operators.add(1, i * 10, i * 10 + 4, "inner");
  if (!outer_first) operators.add(1, 0, inner * 10, "outer");
}

TEST(OperatorTimes, AnyNumberOfOperatorsInOrder) {
  OperatorTimes operators;
  add_nested(operators, 300'000, true);
  operators.finish();
  EXPECT_FALSE(operators.out_of_order() || operators.left_out());
  EXPECT_EQ(self_ns(operators, "inner"), 1'200'000);
  EXPECT_EQ(self_ns(operators, "outer"), 1'800'000);
}

TEST(OperatorTimes, TheOuterMayComeAfterManyInnerOnes) {
  OperatorTimes operators;
  add_nested(operators, 60'000, false);
  operators.finish();
  EXPECT_FALSE(operators.out_of_order() || operators.left_out());
  EXPECT_EQ(self_ns(operators, "outer"), 360'000);
}

TEST(OperatorTimes, WhatComesFarTooLateMakesItAnEstimate) {
  OperatorTimes operators;
  add_nested(operators, 300'000, false);
  operators.finish();
  EXPECT_TRUE(operators.out_of_order());
  EXPECT_FALSE(operators.left_out());
  EXPECT_EQ(self_ns(operators, "inner"), 1'200'000);
  EXPECT_GE(self_ns(operators, "outer"), 0);
  EXPECT_LE(self_ns(operators, "outer"), 1'800'000);
}

TEST(OperatorTimes, DepthAndThreadsAreBounded) {
  OperatorTimes deep;
  for (std::int64_t i = 0; i < 200'000; ++i) deep.add(1, i, 1'000'000 - i, "x");
  deep.finish();
  EXPECT_TRUE(deep.left_out());
  EXPECT_FALSE(deep.out_of_order());
  OperatorTimes wide;
  for (std::uint64_t i = 0; i < 5'000; ++i) wide.add(i, 0, 10, "x");
  wide.finish();
  EXPECT_TRUE(wide.left_out());
  EXPECT_FALSE(wide.out_of_order());
  EXPECT_EQ(self_ns(wide, "x"), static_cast<std::int64_t>(OperatorTimes::kMaxThreads) * 10);
}

}  // namespace
}  // namespace dynolog
