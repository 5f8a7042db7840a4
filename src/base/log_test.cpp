// Unit tests of the log: levels that change, files that are rotated, the journal's own stream.
#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/unique_fd.h"

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class LogFile : public ::testing::Test {
 protected:
  LogFile() {
    char pattern[] = "/tmp/dynolog-log-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    path_ = directory_ + "/log";
  }
  ~LogFile() override { std::filesystem::remove_all(directory_); }

  static std::string text(const std::string& path) { return read_file(path, 1U << 16U).value(); }

  std::string directory_;
  std::string path_;
};

TEST_F(LogFile, SaysTimeLevelAndLine) {
  const auto log = make_file_log(LogLevel::info, path_).value();
  log->warning("port {} is taken", 1778);
  EXPECT_THAT(text(path_), MatchesRegex("[0-9-]+T[0-9:.]+Z warning port 1778 is taken\n"));
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07U, 0U) << "the log is not for everybody";
}

TEST_F(LogFile, TheLevelChangesWhileItIsUsed) {
  const auto log = make_file_log(LogLevel::info, path_).value();
  log->debug("one");
  log->set_least(LogLevel::debug);
  EXPECT_EQ(log->least(), LogLevel::debug);
  log->debug("two");
  log->set_least(LogLevel::error);
  EXPECT_EQ(log->least(), LogLevel::error);
  log->warning("three");
  EXPECT_THAT(text(path_),
              AllOf(EndsWith(" two\n"), Not(HasSubstr("one")), Not(HasSubstr("three"))));
}

TEST_F(LogFile, IsOpenedAnewAfterItWasRotated) {
  const auto log = make_file_log(LogLevel::info, path_).value();
  log->info("before");
  std::filesystem::rename(path_, path_ + ".1");
  log->info("between");
  ASSERT_TRUE(log->reopen());
  log->info("after");
  EXPECT_THAT(text(path_ + ".1"), AllOf(HasSubstr("before"), EndsWith("between\n")));
  EXPECT_THAT(text(path_), AllOf(EndsWith(" after\n"), Not(HasSubstr("between"))));
}

TEST_F(LogFile, TheOldFileStaysWhereTheNewOneCannotBeOpened) {
  const auto log = make_file_log(LogLevel::info, path_).value();
  std::filesystem::rename(path_, directory_ + "/old");
  std::filesystem::create_directory(path_);
  const auto reopened = log->reopen();
  ASSERT_FALSE(reopened);
  EXPECT_THAT(reopened.error().message, HasSubstr(path_));
  log->info("still here");
  EXPECT_THAT(text(directory_ + "/old"), EndsWith("still here\n"));
}

TEST_F(LogFile, ALinkIsNotFollowedAtTheStartOrLater) {
  std::filesystem::create_symlink("target", path_);
  EXPECT_THAT(make_file_log(LogLevel::info, path_).error().message,
              AllOf(HasSubstr("log file"), HasSubstr("symbolic link")));
  std::filesystem::remove(path_);
  const auto log = make_file_log(LogLevel::info, path_).value();
  std::filesystem::rename(path_, path_ + ".1");
  std::filesystem::create_symlink("target", path_);
  EXPECT_FALSE(log->reopen());
  log->info("still here");
  EXPECT_THAT(text(path_ + ".1"), EndsWith("still here\n"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/target"));
}

TEST_F(LogFile, ADirectoryIsNoLogFile) {
  EXPECT_THAT(make_file_log(LogLevel::info, directory_).error().message, HasSubstr(directory_));
}

TEST_F(LogFile, TheJournalIsKnownByItsDeviceAndInode) {
  const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  struct stat status{};
  ASSERT_EQ(::fstat(fd.get(), &status), 0);
  EXPECT_TRUE(is_journal_stream(fd.get(), fmt::format("{}:{}", status.st_dev, status.st_ino)));
  EXPECT_FALSE(is_journal_stream(fd.get(), fmt::format("{}:{}", status.st_dev, status.st_ino + 1)));
  EXPECT_FALSE(is_journal_stream(fd.get(), ""));
  EXPECT_FALSE(is_journal_stream(-1, "0:0"));
}

TEST(LogLevels, HaveNames) {
  for (const auto level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    EXPECT_EQ(log_level_from(to_string(level)), level);
  }
  EXPECT_FALSE(log_level_from("loud"));
}

}  // namespace
}  // namespace dynolog
