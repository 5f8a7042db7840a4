// Work that hangs costs itself only.
#include "workers/bounded_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <string>
#include <thread>

namespace dynolog {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::ElementsAre;
using Outcome = BoundedWork::Outcome;

// Work that hangs until it is let go.
struct Gate {
  std::latch open{1};
  [[nodiscard]] static BoundedWork::Piece piece(std::string name, std::shared_ptr<Gate> gate) {
    return {.name = std::move(name), .work = [gate = std::move(gate)] { gate->open.wait(); }};
  }
};

BoundedWork::Piece counting(std::string name, std::shared_ptr<int> count) {
  return {.name = std::move(name), .work = [count = std::move(count)] { ++*count; }};
}

TEST(BoundedWork, AllOfItInOrder) {
  BoundedWork work({.patience = 60s, .longest = 60s, .most_stuck = 4});
  const auto count = std::make_shared<int>(0);
  EXPECT_THAT(work.run({counting("a", count), counting("b", count), counting("c", count)}),
              ElementsAre(Outcome::done, Outcome::done, Outcome::done));
  EXPECT_EQ(*count, 3);
  EXPECT_TRUE(work.run({}).empty());
}

TEST(BoundedWork, WhatHangsIsPassedOverUntilItComesBack) {
  BoundedWork work({.patience = 1s, .longest = 60s, .most_stuck = 4});
  const auto gate = std::make_shared<Gate>();
  const auto count = std::make_shared<int>(0);
  const auto run = [&](std::shared_ptr<Gate> which) {
    return work.run(
        {counting("a", count), Gate::piece("stuck", std::move(which)), counting("b", count)});
  };
  EXPECT_EQ(run(gate)[1], Outcome::hangs);
  EXPECT_EQ(*count, 2);
  EXPECT_EQ(work.stuck(), 1U);
  // It is not begun a second time: that would take another thread.
  EXPECT_THAT(run(std::make_shared<Gate>()),
              ElementsAre(Outcome::done, Outcome::hangs, Outcome::done));
  EXPECT_EQ(work.stuck(), 1U);
  gate->open.count_down();
  while (work.stuck() > 0) std::this_thread::yield();  // the thread has still to say so
  const auto open = std::make_shared<Gate>();
  open->open.count_down();
  EXPECT_EQ(run(open)[1], Outcome::done);
}

TEST(BoundedWork, WithTooMuchStuckNothingIsBegun) {
  BoundedWork work({.patience = 20ms, .longest = 60s, .most_stuck = 2});
  const auto gate = std::make_shared<Gate>();
  const auto count = std::make_shared<int>(0);
  std::vector<BoundedWork::Piece> pieces;
  for (const char* name : {"a", "b", "c"}) pieces.push_back(Gate::piece(name, gate));
  pieces.push_back(counting("d", count));
  EXPECT_THAT(work.run(std::move(pieces)),
              ElementsAre(Outcome::hangs, Outcome::hangs, Outcome::not_begun, Outcome::not_begun));
  EXPECT_THAT(work.run({counting("e", count)}), ElementsAre(Outcome::not_begun));
  EXPECT_EQ(*count, 0);
  gate->open.count_down();
}

TEST(BoundedWork, TheWholeHasAnEndToo) {
  BoundedWork work({.patience = 20ms, .longest = 1ms, .most_stuck = 100});
  const auto gate = std::make_shared<Gate>();
  std::vector<BoundedWork::Piece> pieces;
  for (int i = 0; i < 20; ++i) pieces.push_back(Gate::piece(std::to_string(i), gate));
  const auto outcomes = work.run(std::move(pieces));
  EXPECT_EQ(outcomes.front(), Outcome::hangs);
  EXPECT_EQ(outcomes.back(), Outcome::not_begun);
  gate->open.count_down();
}

}  // namespace
}  // namespace dynolog
