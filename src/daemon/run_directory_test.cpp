// The run directory: whose it must be, its lock, and the users' directories.
#include "daemon/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "daemon/users.h"

namespace dynolog {
namespace {

using ::testing::HasSubstr;

class RunDirectoryTest : public ::testing::Test {
 protected:
  RunDirectoryTest() {
    char pattern[] = "/tmp/dynolog-run-XXXXXX";
    parent_ = ::mkdtemp(pattern);
  }
  ~RunDirectoryTest() override { std::filesystem::remove_all(parent_); }

  std::string parent_;
};

TEST_F(RunDirectoryTest, IsMadeWithItsParentsAndLocked) {
  const std::string path = parent_ + "/a/run";
  auto first = RunDirectory::open(path, false);
  ASSERT_TRUE(first) << first.error().message;
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  const auto second = RunDirectory::open(path, false);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another dynolog daemon runs"));
}

TEST_F(RunDirectoryTest, TheLockGoesWithItsOwner) {
  const std::string path = parent_ + "/run";
  {
    ASSERT_TRUE(RunDirectory::open(path, false));
  }
  EXPECT_TRUE(RunDirectory::open(path, false));
}

TEST_F(RunDirectoryTest, RefusesOneThatOthersMayWrite) {
  const std::string path = parent_ + "/run";
  ::mkdir(path.c_str(), 0700);
  ::chmod(path.c_str(), 0777);
  EXPECT_THAT(RunDirectory::open(path, false).error().message, HasSubstr("may be written by"));
}

TEST_F(RunDirectoryTest, RefusesALink) {
  ::mkdir((parent_ + "/real").c_str(), 0700);
  ASSERT_EQ(::symlink("real", (parent_ + "/run").c_str()), 0);
  EXPECT_FALSE(RunDirectory::open(parent_ + "/run", false));
}

TEST_F(RunDirectoryTest, UserDirectoriesBelongToTheirUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  auto run = RunDirectory::open(parent_ + "/run", true);
  ASSERT_TRUE(run);
  const auto made = run->make_user_directory(Uid{1234});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, parent_ + "/run/u/1234");
  struct stat info{};
  ASSERT_EQ(::stat(made->c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234U);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  EXPECT_TRUE(run->make_user_directory(Uid{1234})) << "the second time it is found";
  EXPECT_THAT(run->user_directories(), ::testing::ElementsAre(*made));
}

TEST(DefaultRunDirectory, DanglingXdgRuntimeDirFallsBackToTmp) {
  EXPECT_EQ(default_run_directory(true, Uid{0}, "/run/user/0"), "/run/dynolog");
  EXPECT_EQ(default_run_directory(false, Uid{1000}, "/nonexistent/user/1000"), "/tmp/dynolog-1000");
  EXPECT_EQ(default_run_directory(false, Uid{1000}, ""), "/tmp/dynolog-1000");
  EXPECT_EQ(default_run_directory(false, Uid{1000}, "/tmp"), "/tmp/dynolog");
}

TEST(Users, NamesAndNumbersFromThePasswdFile) {
  const Users users("/etc/passwd");
  EXPECT_EQ(users.name(Uid{0}), "root");
  EXPECT_EQ(users.find("root"), Uid{0});
  EXPECT_EQ(users.find("1234"), Uid{1234});
  EXPECT_EQ(users.find("no such user"), std::nullopt);
  EXPECT_EQ(users.name(Uid{4000000}), "4000000");
}

}  // namespace
}  // namespace dynolog
