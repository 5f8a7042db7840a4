// Unit tests of the daemon's log: rotation, another file, and a file that cannot be had.
#include "daemon/daemon_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"

namespace dynolog {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DaemonLogTest : public ::testing::Test {
 protected:
  DaemonLogTest() {
    char name[] = "/tmp/dynolog-log-XXXXXX";
    directory_ = ::mkdtemp(name);
    EXPECT_TRUE(log_.use_file(file()));
  }
  ~DaemonLogTest() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string file() const { return directory_ + "/log"; }
  [[nodiscard]] std::string text() const { return read_file(file(), 1U << 20U).value_or(""); }

  std::string directory_;
  DaemonLog log_{LogLevel::info, false};
};

TEST_F(DaemonLogTest, LogFileIsOpenedAnewAfterARotation) {
  log_.write(LogLevel::info, "one");
  std::filesystem::rename(file(), file() + ".1");
  log_.write(LogLevel::info, "two");
  ASSERT_TRUE(log_.use_file(file()));
  log_.write(LogLevel::info, "three");
  EXPECT_THAT(read_file(file() + ".1", 4096).value(), HasSubstr("two"));
  EXPECT_THAT(text(), HasSubstr("three"));
  EXPECT_THAT(text(), Not(HasSubstr("two")));
  // One that cannot be opened leaves the log where it is, with its level.
  log_.set_least(LogLevel::debug);
  EXPECT_FALSE(log_.use_file(directory_ + "/none/log"));
  log_.write(LogLevel::debug, "four");
  EXPECT_THAT(text(), HasSubstr("four"));
  ASSERT_TRUE(log_.use_file(directory_ + "/other"));
  log_.write(LogLevel::debug, "five");
  EXPECT_THAT(read_file(directory_ + "/other", 4096).value(), HasSubstr("five"));
}

}  // namespace
}  // namespace dynolog
