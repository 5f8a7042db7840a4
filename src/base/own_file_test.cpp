// Which file lines may be appended to: own ones and those of whoever started the daemon, and none
// that another user has chosen.
#include "base/own_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "testing/without_capabilities.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kAlice = 4321;

class OwnFile : public ::testing::Test {
 protected:
  OwnFile() {
    char pattern[] = "/tmp/dynolog-own-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  ~OwnFile() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string at(const std::string& name) const { return directory_ + "/" + name; }
  void directory(const std::string& name, mode_t mode) const {
    ASSERT_TRUE(fs::create_directory(at(name)));
    ASSERT_EQ(::chmod(at(name).c_str(), mode), 0);
  }
  // What was said instead of opening it; "" when lines are appended.
  [[nodiscard]] static std::string refused(const std::string& path) {
    std::error_code ignored;
    const bool was_there = fs::exists(fs::symlink_status(path, ignored));
    const auto seen = see_own_file(path);
    EXPECT_EQ(fs::exists(fs::symlink_status(path, ignored)), was_there) << "looking makes nothing";
    const auto fd = open_own_file(path, 0640);
    // Whether anybody reads a pipe is not looked at: they would notice.
    const bool is_good_pipe = seen && fs::is_fifo(fs::symlink_status(path, ignored));
    EXPECT_TRUE(is_good_pipe || seen.has_value() == fd.has_value()) << path;
    if (!fd) {
      EXPECT_TRUE(seen || seen.error().message == fd.error().message) << seen.error().message;
      return fd.error().message;
    }
    return write_all(fd->get(), "line\n") ? "" : "no line could be written";
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    return read_file(at(name), 1U << 16U).value_or("<none>");
  }

  std::string directory_;
};

using RootsOwnFile = OwnFile;

TEST_F(OwnFile, IsMadeAndAppendedTo) {
  EXPECT_EQ(refused(at("log")), "");
  EXPECT_EQ(refused(at("./log")), "");
  EXPECT_EQ(text("log"), "line\nline\n");
  EXPECT_EQ(fs::status(at("log")).permissions() & fs::perms::others_all, fs::perms::none);
}

TEST_F(OwnFile, ALinkAtTheEndIsNotFollowed) {
  fs::create_symlink("target", at("log"));
  EXPECT_THAT(refused(at("log")), AllOf(HasSubstr(at("log")), HasSubstr("symbolic link")));
  EXPECT_EQ(text("target"), "<none>") << "one that leads nowhere makes no file";
  ASSERT_TRUE(replace_file(at("target"), "", 0640));
  EXPECT_THAT(refused(at("log")), HasSubstr("symbolic link"));
  EXPECT_EQ(text("target"), "");
}

TEST_F(OwnFile, AFileWithASecondNameIsRefused) {
  ASSERT_TRUE(replace_file(at("secret"), "", 0640));
  fs::create_hard_link(at("secret"), at("log"));
  EXPECT_THAT(refused(at("log")), HasSubstr("2 names"));
  EXPECT_EQ(text("secret"), "");
}

TEST_F(OwnFile, AFileThatOthersMayWriteIsRefused) {
  ASSERT_TRUE(replace_file(at("log"), "", 0640));
  ASSERT_EQ(::chmod(at("log").c_str(), 0666), 0);
  EXPECT_THAT(refused(at("log")), AllOf(HasSubstr("mode 666"), HasSubstr("chmod go-w")));
  ASSERT_EQ(::chmod(at("log").c_str(), 0660), 0);
  EXPECT_EQ(refused(at("log")), "") << "the daemon's own group may";
}

TEST_F(OwnFile, ADirectoryThatEverybodyMayWriteToIsRefusedUnlessItIsSticky) {
  directory("open", 0777);
  EXPECT_THAT(refused(at("open/log")), AllOf(HasSubstr(at("open")), HasSubstr("mode 777")));
  ASSERT_EQ(::mkdir(at("open/own").c_str(), 0700), 0);
  EXPECT_THAT(refused(at("open/own/log")), HasSubstr(at("open"))) << "further up counts as well";
  EXPECT_FALSE(fs::exists(at("open/own/log")));
  directory("sticky", 01777);
  EXPECT_EQ(refused(at("sticky/log")), "");
}

TEST_F(OwnFile, OwnLinksOnTheWayAreFollowedAndWhatTheyLeadThroughIsLookedAt) {
  directory("real", 0755);
  fs::create_symlink("real", at("relative"));
  fs::create_symlink(at("relative/../real"), at("absolute"));
  EXPECT_EQ(refused(at("relative/log")), "");
  EXPECT_EQ(refused(at("absolute/log")), "");
  EXPECT_EQ(text("real/log"), "line\nline\n");
  directory("open", 0777);
  directory("open/below", 0755);
  fs::create_symlink("open/below", at("led"));
  EXPECT_THAT(refused(at("led/log")), HasSubstr("everybody may write to " + at("open")));
  fs::create_symlink("loop", at("loop"));
  EXPECT_THAT(refused(at("loop/log")), HasSubstr("Too many levels"));
}

TEST_F(OwnFile, WhatIsNotThereOrNoDirectoryIsSaid) {
  EXPECT_THAT(refused(at("none/log")), AllOf(HasSubstr(at("none")), HasSubstr("No such file")));
  ASSERT_TRUE(replace_file(at("file"), "", 0640));
  EXPECT_THAT(refused(at("file/log")), HasSubstr("Not a directory"));
  EXPECT_THAT(refused(directory_), HasSubstr("Is a directory"));
  EXPECT_THAT(refused(directory_ + "/"), HasSubstr("Is a directory"));
  EXPECT_THAT(refused(""), HasSubstr("directory"));
}

TEST_F(OwnFile, DevicesPipesAndTheDescriptorsOfTheDaemonAreWrittenTo) {
  EXPECT_EQ(refused("/dev/null"), "");
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0640), 0);
  EXPECT_THAT(refused(at("fifo")), HasSubstr("No such device")) << "nobody reads";
  const UniqueFd reader(::open(at("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(refused(at("fifo")), "");

  // As a shell does for `dynolog --log_file=/dev/stdout > file`, in a directory of whose ever.
  directory("open", 0777);
  const UniqueFd redirected(::open(at("open/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
  const std::string number = std::to_string(redirected.get());
  EXPECT_EQ(refused("/proc/self/fd/" + number), "");
  EXPECT_EQ(refused("/dev/fd/" + number), "");
  EXPECT_EQ(text("open/file"), "line\nline\n");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  EXPECT_EQ(refused("/proc/self/fd/" + std::to_string(ends[1])), "");
}

TEST_F(OwnFile, WhatMayNotBeWrittenIsSeenBeforehand) {
  directory("closed", 0500);
  ASSERT_TRUE(replace_file(at("log"), "", 0400));
  const WithoutCapabilities as_anybody;
  const auto made = see_own_file(at("closed/log"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "making " + at("closed/log") + ": Permission denied");
  EXPECT_FALSE(open_own_file(at("closed/log"), 0640));
  const auto opened = see_own_file(at("log"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, at("log") + ": Permission denied");
}

TEST_F(RootsOwnFile, NothingOfAnotherUsersIsGoneThrough) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const auto give = [this](const std::string& name) {
    ASSERT_EQ(::lchown(at(name).c_str(), kAlice, kAlice), 0);
  };
  directory("home", 0755);
  give("home");
  EXPECT_THAT(refused(at("home/log")), AllOf(HasSubstr(at("home")), HasSubstr("uid 4321")));
  directory("home/roots", 0700);
  EXPECT_THAT(refused(at("home/roots/log")), HasSubstr("uid 4321"));
  EXPECT_FALSE(fs::exists(at("home/roots/log")));

  directory("sticky", 01777);
  directory("sticky/real", 0755);
  fs::create_symlink("real", at("sticky/led"));
  EXPECT_EQ(refused(at("sticky/led/log")), "");
  give("sticky/led");
  EXPECT_THAT(refused(at("sticky/led/log")), HasSubstr("a link of uid 4321"));
  ASSERT_TRUE(replace_file(at("sticky/log"), "", 0640));
  give("sticky/log");
  EXPECT_THAT(refused(at("sticky/log")), HasSubstr("belongs to uid 4321"));
  EXPECT_EQ(text("sticky/log"), "");
  ASSERT_EQ(::mkfifo(at("sticky/fifo").c_str(), 0666), 0);
  give("sticky/fifo");
  const UniqueFd reader(::open(at("sticky/fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_THAT(refused(at("sticky/fifo")), HasSubstr("belongs to uid 4321"));
}

TEST_F(RootsOwnFile, AGroupMayWriteToADirectoryOfRootsAndTheFileIsLookedAt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another group";
  directory("var_log", 0775);  // root:syslog
  ASSERT_EQ(::chown(at("var_log").c_str(), 0, kAlice), 0);
  EXPECT_EQ(refused(at("var_log/log")), "");
  ASSERT_EQ(::chown(at("var_log/log").c_str(), 0, kAlice), 0);
  EXPECT_EQ(refused(at("var_log/log")), "");
  ASSERT_EQ(::chmod(at("var_log/log").c_str(), 0660), 0);
  EXPECT_THAT(refused(at("var_log/log")), HasSubstr("mode 660"));
}

}  // namespace
}  // namespace dynolog
