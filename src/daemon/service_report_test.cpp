// Unit tests of what the service manager hears, and of when it hears nothing.
#include "daemon/service_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/fake_service_manager.h"
#include "testing/capturing_log.h"

namespace dynolog {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class ServiceReportTest : public ::testing::Test {
 protected:
  void make() {
    report_.emplace(
        ServiceReport::World{.loop = loop_,
                             .clock = clock_,
                             .log = log_,
                             .manager = manager_,
                             .line = [this] { return line_; },
                             .threads = {{"kineto", [this] { return kineto_ ? kineto_() : true; }},
                                         {"metrics", [this] { return metrics_; }}}});
  }
  // Until the manager has heard the word so often.
  void run_until(const std::string& word, std::ptrdiff_t times) {
    manager_.on_word = [this, word, times] {
      if (std::ranges::count(manager_.said, word) >= times) loop_.stop();
    };
    loop_.run();
  }

  EventLoop loop_;
  SystemClock clock_;
  CapturingLog log_;
  testing::FakeServiceManager manager_;
  std::string line_ = "0 processes";
  std::function<bool()> kineto_;
  bool metrics_ = true;
  std::optional<ServiceReport> report_;
};

TEST_F(ServiceReportTest, ReadyWithALineThenOnlyNews) {
  make();
  report_->ready();
  line_ = "1 process";
  report_->changed();
  report_->changed();
  run_until("show 1 process", 1);
  EXPECT_THAT(manager_.said, ElementsAre("ready 0 processes", "show 1 process"));
}

TEST_F(ServiceReportTest, ReloadAndEnd) {
  make();
  report_->ready();
  report_->reloading();
  report_->ready();
  report_->stopping();
  report_->changed();
  EXPECT_THAT(manager_.said,
              ElementsAre("ready 0 processes", "reloading", "ready 0 processes", "stopping"));
}

TEST_F(ServiceReportTest, NobodyListens) {
  manager_.is_present = false;
  manager_.watchdog_every = Milliseconds(1);
  make();
  report_->ready();
  report_->changed();
  report_->reloading();
  report_->stopping();
  EXPECT_THAT(manager_.said, IsEmpty());
}

TEST_F(ServiceReportTest, SignsOfLifeAsLongAsTheLoopComesRound) {
  manager_.watchdog_every = Milliseconds(2);
  make();
  report_->ready();
  run_until("alive", 4);
  EXPECT_THAT(manager_.said, Contains("alive").Times(4));
}

TEST_F(ServiceReportTest, AThreadThatHangsEndsThemUntilItComesRound) {
  manager_.watchdog_every = Milliseconds(2);
  int questions = 0;
  kineto_ = [this, &questions] {
    if (++questions == 3) loop_.stop();
    return questions > 3;
  };
  make();
  report_->ready();
  loop_.run();
  EXPECT_THAT(manager_.said, Not(Contains("alive")));
  EXPECT_TRUE(log_.contains("the kineto thread does not come round"));
  EXPECT_EQ(log_.count("does not come round"), 1U);
  run_until("alive", 1);
  EXPECT_TRUE(log_.contains("the kineto thread has come round again"));
}

TEST_F(ServiceReportTest, WithoutAWatchdogNobodyIsAsked) {
  kineto_ = [] { return ADD_FAILURE() << "asked", true; };
  make();
  report_->ready();
  EXPECT_THAT(manager_.said, ElementsAre("ready 0 processes"));
}

}  // namespace
}  // namespace dynolog
