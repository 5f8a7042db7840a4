// Unit tests of SIGHUP: what is taken, what is refused, and what is said about it.
#include "daemon/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/capturing_log.h"

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReloadTest : public ::testing::Test {
 protected:
  ConfigurationReload reload_{
      {.log = log_,
       .read = [this] { return read_; },
       .take_up = [this](const Options& before, const Options& after,
                         const std::vector<const OptionRow*>& changes) -> Status {
         ++asked_;
         before_ = before;
         after_ = after;
         changes_ = changes.size();
         return answer_;
       }},
      Options{}};
  CapturingLog log_;
  Result<CommandLine> read_ = CommandLine{};
  Status answer_;
  int asked_ = 0;
  std::size_t changes_ = 0;
  Options before_;
  Options after_;
};

TEST_F(ReloadTest, SaysWhatCountsAtOnceAndWhatFromTheNextStart) {
  read_->options.log_level = LogLevel::debug;
  read_->options.rpc.port = 2000;
  auto report = reload_.run();
  EXPECT_EQ(changes_, 1U);
  EXPECT_EQ(after_.log_level, LogLevel::debug);
  EXPECT_TRUE(report.taken);
  EXPECT_THAT(report.at_once, ElementsAre("log_level"));
  EXPECT_THAT(report.next_start, ElementsAre("port"));
  EXPECT_TRUE(log_.contains("changed at once: log_level; count from the next start: port"));

  // Still not in effect at the next one, where nothing changes.
  report = reload_.run();
  EXPECT_THAT(report.at_once, IsEmpty());
  EXPECT_THAT(report.next_start, ElementsAre("port"));
  // Put back: nothing is left to count.
  read_->options.rpc.port = Options{}.rpc.port;
  report = reload_.run();
  EXPECT_THAT(report.next_start, IsEmpty());
  EXPECT_EQ(text_of(report), "nothing changed");
}

TEST_F(ReloadTest, BadConfigurationChangesNothingAndSaysWhy) {
  read_ = fail(ErrorKind::invalid, "x.toml:3: log_level = 1: must be debug");
  const auto report = reload_.run();
  EXPECT_EQ(asked_, 0);
  EXPECT_FALSE(report.taken);
  EXPECT_THAT(report.problem, HasSubstr("x.toml:3"));
  EXPECT_TRUE(log_.contains("not taken, all is as it was: x.toml:3"));
}

TEST_F(ReloadTest, WhatCannotBeTakenUpIsTriedAgainNextTime) {
  read_->options.metrics.interval_s = 5;
  answer_ = fail(ErrorKind::invalid, "no collector 'x'");
  EXPECT_FALSE(reload_.run().taken);
  EXPECT_EQ(reload_.options().metrics.interval_s, 1);
  answer_ = {};
  EXPECT_TRUE(reload_.run().taken);
  EXPECT_EQ(before_.metrics.interval_s, 1);
  EXPECT_EQ(reload_.options().metrics.interval_s, 5);
}

TEST_F(ReloadTest, WarningsOfTheFilesAreLogged) {
  read_->warnings = {"--json_file has no effect without --use_JSON"};
  EXPECT_TRUE(reload_.run().taken);
  EXPECT_TRUE(log_.contains("--json_file has no effect"));
}

}  // namespace
}  // namespace dynolog
