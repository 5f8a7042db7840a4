// What can be seen of files and directories before a start.
#include "daemon/place_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "daemon/own_directory.h"
#include "daemon/run_directory.h"
#include "testing/without_capabilities.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class PlaceCheck : public ::testing::Test {
 protected:
  PlaceCheck() {
    // Not below /tmp, which may be memory: no place for a history.
    char pattern[] = "/var/tmp/dynolog-places-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    defaults_ = {.run_dir = at("run"), .state_dir = at("state")};
  }
  ~PlaceCheck() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string at(const std::string& name) const { return directory_ + "/" + name; }
  // The same answer as a start's, and nothing made.
  [[nodiscard]] std::string of_run_directory(const std::string& path) {
    command_.options.run_dir = path;
    const auto seen = check_run_directory(command_, defaults_);
    const bool was_there = fs::exists(fs::symlink_status(path));
    EXPECT_EQ(RunDirectory::open(path, true).has_value(), seen.has_value()) << path;
    if (seen && !was_there) fs::remove_all(path);
    return seen ? "" : seen.error().message;
  }
  [[nodiscard]] std::vector<std::string> missing() const {
    return what_is_missing(command_, defaults_);
  }

  std::string directory_;
  CommandLine command_;
  DefaultPlaces defaults_;
};

TEST_F(PlaceCheck, ARunDirectoryThatAStartWouldEndOn) {
  EXPECT_EQ(of_run_directory(at("run")), "");
  EXPECT_EQ(of_run_directory(at("a/b/run/")), "");
  command_.given["run_dir"] = "/x.toml:2: run_dir = y";
  EXPECT_EQ(of_run_directory("/dev/null/run"),
            "/x.toml:2: run_dir = y: /dev/null/run: Not a directory");
  ASSERT_TRUE(replace_file(at("file"), "", 0600));
  EXPECT_THAT(of_run_directory(at("file")), EndsWith("Not a directory"));
  fs::create_symlink("nowhere", at("link"));
  EXPECT_THAT(of_run_directory(at("link")), StartsWith("/x.toml:2: "));
  EXPECT_THAT(of_run_directory(at("link/run")),
              EndsWith("making it in " + at("link") + ": No such file or directory"));
  fs::create_directory(at("open"));
  ASSERT_EQ(::chmod(at("open").c_str(), 0777), 0);
  EXPECT_THAT(of_run_directory(at("open")), AllOf(HasSubstr("mode 777"), HasSubstr("--run_dir")));
  fs::create_directory(at("closed"));
  ASSERT_EQ(::chmod(at("closed").c_str(), 0500), 0);
  const WithoutCapabilities as_anybody;
  EXPECT_THAT(of_run_directory(at("closed")), EndsWith("closed: Permission denied"));
  EXPECT_THAT(of_run_directory(at("closed/run")),
              EndsWith("making it in " + at("closed") + ": Permission denied"));
}

TEST_F(PlaceCheck, TheDefaultRunDirectoryIsLookedAtToo) {
  ASSERT_TRUE(replace_file(at("run"), "", 0600));
  const auto seen = check_run_directory(command_, defaults_);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().message, "--run_dir: " + at("run") + ": Not a directory");
}

TEST_F(PlaceCheck, AnotherDaemonInTheRunDirectoryIsNoFault) {
  const auto runs = RunDirectory::open(at("run"), true);
  ASSERT_TRUE(runs);
  EXPECT_TRUE(check_run_directory(command_, defaults_));
}

TEST_F(PlaceCheck, RootMayLookAtTheOptionsOfAnotherUsersDaemon) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  fs::create_directory(at("run"));
  ASSERT_EQ(::chown(at("run").c_str(), 4321, 4321), 0);
  EXPECT_TRUE(check_run_directory(command_, defaults_));
  EXPECT_THAT(missing(), ElementsAre("--run_dir: " + at("run") +
                                     " belongs to uid 4321: a daemon of that user's starts there, "
                                     "and none of root's"));
}

TEST_F(PlaceCheck, NothingIsMissingAndNothingIsMade) {
  command_.options.log_file = at("log");
  command_.options.metrics.json = {.enabled = true, .file = at("lines")};
  command_.options.metrics.history.directory = at("kept");
  command_.options.metrics.collectors.textfile.directory = directory_;
  EXPECT_THAT(missing(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(PlaceCheck, WhatOfTheStateCannotBeKept) {
  ASSERT_TRUE(replace_file(at("state"), "", 0600));
  EXPECT_THAT(missing(),
              ElementsAre(AllOf(StartsWith("--state_dir: " + at("state") + ": Not a directory: "),
                                HasSubstr("traces that nobody fetches are not kept"),
                                HasSubstr("the history is in memory only"))));
  command_.options.metrics.history.directory = at("kept");
  EXPECT_THAT(missing(), ElementsAre(EndsWith("traces that nobody fetches are not kept")));
  command_.options.sessions.store_mb = 0;
  EXPECT_THAT(missing(), IsEmpty()) << "nothing is kept there";
  command_.options.metrics.history.directory = at("state/kept");
  command_.given["history_dir"] = "/x.toml:4: history_dir = z";
  EXPECT_THAT(missing(), ElementsAre(AllOf(StartsWith("/x.toml:4: history_dir = z: "),
                                           HasSubstr("Not a directory"),
                                           EndsWith("the history is in memory only"))));
  command_.options.metrics.history.enabled = false;
  EXPECT_THAT(missing(), IsEmpty());
}

TEST_F(PlaceCheck, AHistoryBelowTheStateOrNowhere) {
  command_.options.sessions.store_mb = 0;
  fs::create_directories(at("state"));
  ASSERT_TRUE(replace_file(at("state/history"), "", 0600));
  EXPECT_THAT(missing(), ElementsAre(AllOf(HasSubstr("state/history: Not a directory"),
                                           EndsWith("the history is in memory only"))));
  defaults_.state_dir.clear();
  EXPECT_THAT(missing(), ElementsAre(HasSubstr("neither XDG_STATE_HOME nor HOME is set")));
}

TEST_F(PlaceCheck, AFileSystemThatHoldsNoHistory) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no tmpfs";
  command_.options.metrics.history.directory = "/dev/shm/dynolog-none/history";
  EXPECT_THAT(missing(), ElementsAre(AllOf(HasSubstr("/dev/shm is on tmpfs"),
                                           EndsWith("the history is in memory only"))));
  command_.options.metrics.history.directory.clear();
  defaults_.state_dir = "/dev/shm/dynolog-none";
  EXPECT_THAT(missing(), ElementsAre(AllOf(HasSubstr("is on tmpfs"),
                                           EndsWith("the history is in memory only"))));
}

TEST_F(PlaceCheck, ALogAndLinesThatCannotBeWritten) {
  command_.options.log_file = at("none/log");
  command_.given["log_file"] = "--log_file=" + at("none/log");
  EXPECT_THAT(missing(), ElementsAre(AllOf(StartsWith("--log_file=" + at("none/log") + ": "),
                                           HasSubstr("No such file or directory"),
                                           EndsWith("the log goes to stderr"))));
  command_.options.log_file.clear();
  auto& json = command_.options.metrics.json;
  json.file = "/nonexistent/x";
  command_.given["json_file"] = "/x.toml:2: json_file = /nonexistent/x";
  EXPECT_THAT(missing(), IsEmpty()) << "no lines are asked for";
  json.enabled = true;
  EXPECT_THAT(missing(), ElementsAre(AllOf(StartsWith("/x.toml:2: json_file = /nonexistent/x: "),
                                           HasSubstr("No such file"))));
  json.file = "/dev/null";
  EXPECT_THAT(missing(), IsEmpty());
  json.file.clear();
  EXPECT_THAT(missing(), IsEmpty()) << "standard output";
}

TEST_F(PlaceCheck, ADirectoryOfTextFilesThatIsNotThere) {
  auto& directory = command_.options.metrics.collectors.textfile.directory;
  directory = at("none");
  EXPECT_THAT(missing(),
              ElementsAre(AllOf(StartsWith("--textfile_directory: "), HasSubstr("No such file"),
                                EndsWith("until it can be read"))));
  ASSERT_TRUE(replace_file(at("file"), "", 0600));
  directory = at("file");
  EXPECT_THAT(missing(), ElementsAre(HasSubstr("Not a directory")));
}

}  // namespace
}  // namespace dynolog
