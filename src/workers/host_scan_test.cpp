// A whole scan with real workers, good and bad ones.
#include "workers/host_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "testing/capturing_log.h"
#include "testing/patience.h"

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HostScanTest : public ::testing::Test {
 protected:
  ~HostScanTest() override { ::unsetenv("DYNOLOG_TEST_WORKER"); }

  ScanOutcome scan(ScanOptions options, const char* misbehaviour = nullptr) {
    if (misbehaviour != nullptr) ::setenv("DYNOLOG_TEST_WORKER", misbehaviour, 1);
    std::optional<ScanOutcome> outcome;
    auto scan = HostScan::start(loop_, clock_, log_, DYNOLOG_SCAN_CHILD, std::move(options),
                                [&](ScanOutcome found) {
                                  outcome = std::move(found);
                                  loop_.stop();
                                });
    EXPECT_FALSE(outcome.has_value()) << "never inside the call";
    loop_.run();
    return outcome.value_or(ScanOutcome{});
  }
  static std::vector<int> pids(const ScanOutcome& outcome) {
    std::vector<int> found;
    for (const auto& process : outcome.processes) found.push_back(process.facts.key.pid.value);
    return found;
  }

  EventLoop loop_;
  SystemClock clock_;
  CapturingLog log_;
  LoopGuard guard_{loop_};
};

TEST_F(HostScanTest, FindsTheProcessThatIsNamedAndMeasuresPaths) {
  const ScanOutcome outcome = scan({.only_of = Uid{::geteuid()},
                                    .named = {Pid{::getpid()}, Pid{2'000'000'000}},
                                    .paths = {"/"},
                                    .time = kPatience});
  EXPECT_THAT(pids(outcome), ::testing::Contains(::getpid()));
  EXPECT_EQ(outcome.incomplete, "");
  EXPECT_THAT(outcome.hung, IsEmpty());
  ASSERT_TRUE(outcome.host.has_value()) << outcome.host_problem;
  ASSERT_EQ(outcome.host->spaces.size(), 1U);
  EXPECT_EQ(outcome.host->spaces.front().path, "/");
  EXPECT_EQ(outcome.host->spaces.front().problem, "");
}

TEST_F(HostScanTest, AProcessOfAnotherUserIsNotFound) {
  const ScanOutcome outcome =
      scan({.only_of = Uid{::geteuid() + 1}, .named = {Pid{::getpid()}}, .time = kPatience});
  EXPECT_THAT(pids(outcome), ::testing::Not(::testing::Contains(::getpid())));
}

TEST_F(HostScanTest, WhatHangsIsPassedOver) {
  const ScanOutcome outcome = scan({.time = kPatience}, "scan-hangs");
  EXPECT_THAT(outcome.hung, ElementsAre(Pid{700}));
  EXPECT_THAT(pids(outcome), ElementsAre(5, 6)) << "those below it, by pid";
  EXPECT_EQ(outcome.incomplete, "");
}

TEST_F(HostScanTest, AHangingHostIsSaidToBeOne) {
  const ScanOutcome outcome = scan({.time = kPatience}, "host-hangs");
  EXPECT_FALSE(outcome.host.has_value());
  EXPECT_THAT(outcome.host_problem, HasSubstr("in time"));
  EXPECT_THAT(pids(outcome), ElementsAre(5, 6));
}

TEST_F(HostScanTest, AWorkerThatNeverComesDownIsNotFollowed) {
  const ScanOutcome outcome = scan({.time = kPatience}, "scan-repeats");
  EXPECT_THAT(pids(outcome), ElementsAre(5, 6));
}

TEST_F(HostScanTest, WorkersThatEndOrTalkNonsenseEndTheScan) {
  for (const char* misbehaviour : {"exit", "garbage", "wrong-number"}) {
    const ScanOutcome outcome = scan({.time = kPatience}, misbehaviour);
    EXPECT_FALSE(outcome.host.has_value()) << misbehaviour;
    EXPECT_NE(outcome.incomplete, "") << misbehaviour;
    EXPECT_THAT(outcome.processes, IsEmpty());
  }
}

TEST_F(HostScanTest, TheTimeOfTheWholeIsBounded) {
  const ScanOutcome outcome = scan({.time = {}});
  EXPECT_THAT(outcome.incomplete, HasSubstr("too long"));
}

TEST_F(HostScanTest, AScanThatIsDroppedSaysNothing) {
  bool called = false;
  {
    const auto dropped = HostScan::start(loop_, clock_, log_, DYNOLOG_SCAN_CHILD, {},
                                         [&](const ScanOutcome&) { called = true; });
  }
  static_cast<void>(scan({.named = {Pid{::getpid()}}, .time = kPatience}));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace dynolog
