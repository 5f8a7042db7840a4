// When real-time priority is taken, given up and taken again.
#include "ipc/realtime.h"

#include <gtest/gtest.h>

#include <vector>

namespace dynolog {
namespace {

using std::chrono::seconds;
using Change = RealtimePriority::Change;

class RealtimePriorityTest : public testing::Test {
 protected:
  // Time passes, of which the thread uses `used`.
  Change turn(Nanoseconds passed, Nanoseconds used) {
    now_ += passed;
    used_ += used;
    return priority_.on_turn(now_, used_);
  }
  // Long enough to be noisy: 150 ms within a window of 2 s.
  Change flood() { return turn(seconds(1), Milliseconds(150)); }
  // So many seconds of 2 % of a core; the first change that they bring.
  Change quiet(int count) {
    for (int i = 0; i < count; ++i) {
      const Change change = turn(seconds(1), Milliseconds(20));
      if (change != Change::none) return change;
    }
    return Change::none;
  }

  bool permitted_ = true;
  std::vector<bool> set_;
  RealtimePriority priority_{true, [this](bool realtime) {
                               set_.push_back(realtime);
                               return permitted_;
                             }};
  MonotonicTime now_{seconds(1000)};
  Nanoseconds used_ = Milliseconds(500);
};

TEST_F(RealtimePriorityTest, IsTakenAtTheStart) {
  EXPECT_EQ(priority_.begin(now_, used_), Change::taken);
  EXPECT_EQ(set_, std::vector<bool>{true});
  EXPECT_FALSE(priority_.next_due());
}

TEST_F(RealtimePriorityTest, RefusedIsNotTriedAgain) {
  permitted_ = false;
  EXPECT_EQ(priority_.begin(now_, used_), Change::refused);
  EXPECT_EQ(flood(), Change::none);
  EXPECT_EQ(quiet(100), Change::none);
  EXPECT_EQ(set_.size(), 1U);
}

TEST_F(RealtimePriorityTest, NotWantedIsNotTaken) {
  RealtimePriority unwanted(false, [](bool) {
    ADD_FAILURE() << "priority was changed";
    return true;
  });
  EXPECT_EQ(unwanted.begin(now_, used_), Change::none);
  EXPECT_EQ(unwanted.on_turn(now_ + seconds(1), used_ + seconds(1)), Change::none);
  EXPECT_FALSE(unwanted.next_due());
}

TEST_F(RealtimePriorityTest, StaysWhileTheThreadIsModest) {
  ASSERT_EQ(priority_.begin(now_, used_), Change::taken);
  EXPECT_EQ(quiet(600), Change::none);
  // A burst of 512 clients.
  EXPECT_EQ(turn(Milliseconds(60), Milliseconds(50)), Change::none);
  EXPECT_EQ(set_.size(), 1U);
}

TEST_F(RealtimePriorityTest, IsLeftAboveFivePercentOfACore) {
  ASSERT_EQ(priority_.begin(now_, used_), Change::taken);
  EXPECT_EQ(turn(Milliseconds(500), Milliseconds(100)), Change::none);
  EXPECT_EQ(turn(Milliseconds(500), Milliseconds(1)), Change::left);
  EXPECT_EQ(set_, (std::vector<bool>{true, false}));
  EXPECT_EQ(priority_.next_due(), now_ + seconds(60));
}

TEST_F(RealtimePriorityTest, AFloodAfterALongPauseIsJudgedByItself) {
  ASSERT_EQ(priority_.begin(now_, used_), Change::taken);
  // Nothing to do for an hour, of which 5 % would be minutes.
  EXPECT_EQ(turn(std::chrono::hours(1), Milliseconds(1)), Change::none);
  EXPECT_EQ(flood(), Change::left);
}

TEST_F(RealtimePriorityTest, IsTakenAgainAfterAQuietMinute) {
  ASSERT_EQ(priority_.begin(now_, used_), Change::taken);
  ASSERT_EQ(flood(), Change::left);
  EXPECT_EQ(quiet(59), Change::none);
  EXPECT_EQ(quiet(1), Change::taken);
  EXPECT_EQ(set_, (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(priority_.next_due());
  // And left again.
  EXPECT_EQ(flood(), Change::left);
}

TEST_F(RealtimePriorityTest, NoiseBeginsTheMinuteAnew) {
  ASSERT_EQ(priority_.begin(now_, used_), Change::taken);
  ASSERT_EQ(flood(), Change::left);
  EXPECT_EQ(quiet(40), Change::none);
  EXPECT_EQ(flood(), Change::none);
  EXPECT_EQ(quiet(59), Change::none);
  EXPECT_EQ(quiet(1), Change::taken);
}

TEST_F(RealtimePriorityTest, NoLongerPermittedIsTriedOnceAMinute) {
  ASSERT_EQ(priority_.begin(now_, used_), Change::taken);
  ASSERT_EQ(flood(), Change::left);
  permitted_ = false;
  EXPECT_EQ(quiet(60), Change::none);
  EXPECT_EQ(set_, (std::vector<bool>{true, false, true}));
  // Not due at once, or the thread would turn without a pause.
  EXPECT_EQ(priority_.next_due(), now_ + seconds(60));
  EXPECT_EQ(quiet(59), Change::none);
  EXPECT_EQ(set_.size(), 3U);
  permitted_ = true;
  EXPECT_EQ(quiet(1), Change::taken);
}

}  // namespace
}  // namespace dynolog
