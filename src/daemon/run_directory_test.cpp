// The run directory: whose it must be, its lock, and the users' directories.
#include "daemon/run_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "daemon/own_directory.h"
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

TEST_F(RunDirectoryTest, ThereIsAnEndToUserDirectories) {
  auto run = RunDirectory::open(parent_ + "/run", false, 2);
  ASSERT_TRUE(run);
  const Uid own{::geteuid()};
  ASSERT_TRUE(run->make_user_directory(own));
  std::filesystem::create_directory(parent_ + "/run/u/123456");
  const auto refused = run->make_user_directory(Uid{own.value + 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::exhausted);
  EXPECT_TRUE(run->make_user_directory(own)) << "who has one keeps it";
}

class CollectedDirectoriesTest : public RunDirectoryTest {
 protected:
  CollectedDirectoriesTest() {
    root_.proc = parent_ + "/proc";
    std::filesystem::create_directories(root_.proc + "/7");
    std::ofstream(root_.proc + "/7/status") << "Name:\tjob\nState:\tS (sleeping)\nPid:\t7\n"
                                               "PPid:\t1\nUid:\t101\t101\t101\t101\n"
                                               "Gid:\t101\t101\t101\t101\nGroups:\t\n";
  }
  // With what lies in it; as if nobody had touched it since 1970.
  std::string add(const std::string& uid, const std::string& socket, const std::string& file) {
    const std::string path = parent_ + "/run/u/" + uid;
    std::filesystem::create_directories(path);
    if (!socket.empty()) {
      const UniqueFd bound(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", path.c_str(),
                    socket.c_str());
      EXPECT_EQ(::bind(bound.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    if (!file.empty()) std::ofstream(path + "/" + file) << "x";
    const timespec long_ago[2] = {};
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
    return path;
  }

  SystemRoot root_;
};

TEST_F(CollectedDirectoriesTest, OnlyWhatNobodyUsesGoes) {
  auto run = RunDirectory::open(parent_ + "/run", false);
  ASSERT_TRUE(run);
  const auto left = add("100", "dynolog", "");
  const auto empty = add("102", "", "");
  const std::vector<std::string> kept = {
      add("101", "dynolog", ""),           // a process of that user
      add("103", "dynolog", "dynolog.2"),  // something else in it
      add("104", "trainer", ""),           // another socket
      add("105", "", "dynolog"),           // no socket
  };
  const WallTime touched{};
  EXPECT_EQ(run->collect_user_directories(root_, touched + kUnusedFor / 2), 0U);
  EXPECT_EQ(run->collect_user_directories(root_, touched + kUnusedFor), 2U);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_FALSE(std::filesystem::exists(empty));
  for (const std::string& path : kept) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(std::filesystem::exists(parent_ + "/run/u/101/dynolog"));
}

TEST_F(CollectedDirectoriesTest, NothingGoesWhereProcessesCannotBeRead) {
  auto run = RunDirectory::open(parent_ + "/run", false);
  ASSERT_TRUE(run);
  add("100", "dynolog", "");
  std::ofstream(root_.proc + "/7/status") << "unreadable";
  EXPECT_EQ(run->collect_user_directories(root_, WallTime() + kUnusedFor), 0U);
  root_.proc += "/none";
  EXPECT_EQ(run->collect_user_directories(root_, WallTime() + kUnusedFor), 0U);
}

TEST(DefaultRunDirectory, DanglingXdgRuntimeDirFallsBackToTmp) {
  EXPECT_EQ(default_run_directory(true, Uid{0}, "/run/user/0"), "/run/dynolog");
  EXPECT_EQ(default_run_directory(false, Uid{1000}, "/nonexistent/user/1000"), "/tmp/dynolog-1000");
  EXPECT_EQ(default_run_directory(false, Uid{1000}, ""), "/tmp/dynolog-1000");
  EXPECT_EQ(default_run_directory(false, Uid{1000}, "/tmp"), "/tmp/dynolog");
}

TEST(DefaultStateDirectory, IsTheHostsOwnBelowAHome) {
  EXPECT_EQ(default_state_directory(true, "h1", "/x", "/root"), "/var/lib/dynolog");
  EXPECT_EQ(default_state_directory(false, "h1", "/x", "/home/a"), "/x/dynolog/h1");
  EXPECT_EQ(default_state_directory(false, "h1", "", "/home/a"), "/home/a/.local/state/dynolog/h1");
  EXPECT_EQ(default_state_directory(false, "h1", "relative", ""), "");
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
