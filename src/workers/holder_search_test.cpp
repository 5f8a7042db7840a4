// The search for a socket's holders, in a made-up /proc and in the real one.
#include "workers/holder_search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint32_t kInode = 4711;
constexpr Uid kUser{1001};
constexpr std::size_t kFirstLook = 20;
constexpr std::size_t kMany = 100;

class HolderSearchTest : public ::testing::Test {
 protected:
  HolderSearchTest() {
    std::string pattern = ::testing::TempDir() + "holder_search_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    root_.proc = path_;
    make(1, kRootUid);
  }
  ~HolderSearchTest() override { fs::remove_all(path_); }

  void make(int pid, Uid uid, const std::string& cgroup = "/user.slice/session-1.scope") {
    const fs::path directory = path_ / std::to_string(pid);
    fs::create_directories(directory / "fd");
    fs::create_directories(directory / "ns");
    for (const std::string name : {"user", "pid", "mnt"}) {
      fs::create_symlink(name + ":[4026531837]", directory / "ns" / name);
    }
    std::ofstream(directory / "stat")
        << pid << " (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n";
    std::ofstream(directory / "status") << fmt::format(
        "Name:\tx\nState:\tS (sleeping)\nPid:\t{0}\nPPid:\t1\n"
        "Uid:\t{1}\t{1}\t{1}\t{1}\nGid:\t1\t1\t1\t1\nGroups:\t1\nNSpid:\t{0}\n",
        pid, uid.value);
    std::ofstream(directory / "cgroup") << "0::" << cgroup << "\n";
  }
  void open(int pid, int descriptor, const std::string& target) {
    fs::create_symlink(target, path_ / std::to_string(pid) / "fd" / std::to_string(descriptor));
  }
  void open_socket(int pid) { open(pid, 3, fmt::format("socket:[{}]", kInode)); }
  void open_many(int pid) {
    for (std::size_t i = 0; i < kMany; ++i) open(pid, static_cast<int>(10 + i), "/dev/null");
  }
  Result<std::vector<SocketHolder>> find(Uid uid, std::size_t descriptors = 1'000'000) {
    return find_socket_holders(root_, clock_, kInode, uid,
                               {.descriptors = descriptors, .first_look = kFirstLook});
  }
  // Enough for a first look at everybody, too little for all.
  static constexpr std::size_t kLittle = 40;

  fs::path path_;
  SystemRoot root_;
  FakeClock clock_;
};

TEST_F(HolderSearchTest, HoldersAreFoundAndJudged) {
  make(100, kUser);
  open_socket(100);
  open(100, 4, "socket:[4712]");
  auto holders = find(kUser);
  ASSERT_TRUE(holders.has_value());
  ASSERT_EQ(holders->size(), 1U);
  EXPECT_EQ(holders->at(0).key, (ProcessKey{Pid{100}, 55}));
  EXPECT_EQ(holders->at(0).uid, kUser);
  EXPECT_TRUE(holders->at(0).host_namespaces);
  fs::remove(path_ / "100/ns/mnt");
  fs::create_symlink("mnt:[1]", path_ / "100/ns/mnt");
  EXPECT_FALSE(find(kUser)->at(0).host_namespaces);
  EXPECT_TRUE(find_socket_holders(root_, clock_, 47, kUser, SearchBudget{})->empty());
}

TEST_F(HolderSearchTest, ASocketBehindManyDescriptorsIsFound) {
  make(100, kUser);
  open_many(100);
  open_socket(100);
  EXPECT_EQ(find(kUser)->size(), 1U);
}

TEST_F(HolderSearchTest, AllHoldersOfOneTenantAreTold) {
  for (const int pid : {100, 101, 102}) {
    make(pid, kUser);
    open_socket(pid);
  }
  EXPECT_EQ(find(kUser)->size(), 3U);
}

TEST_F(HolderSearchTest, OneUsersManyDescriptorsDoNotLockOthersOut) {
  make(100, kUser);
  open_socket(100);
  make(200, Uid{2001});
  open_many(200);
  const auto holders = find(kUser, kLittle);
  ASSERT_TRUE(holders.has_value()) << holders.error().message;
  ASSERT_EQ(holders->size(), 1U);
  EXPECT_EQ(holders->at(0).key.pid, Pid{100});
}

TEST_F(HolderSearchTest, NobodyIsRootAfterAnUnfinishedSearch) {
  make(100, kRootUid);
  open_socket(100);
  make(200, Uid{2001});
  open_many(200);  // may have been left the connection
  const auto holders = find(kRootUid, kLittle);
  ASSERT_FALSE(holders.has_value());
  EXPECT_EQ(holders.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(holders.error().message, HasSubstr("use the unix socket"));
  EXPECT_EQ(find(kRootUid)->size(), 1U);
}

TEST_F(HolderSearchTest, WithoutAHolderAnUnfinishedSearchSaysSo) {
  make(200, kUser);
  open_many(200);
  EXPECT_EQ(find(kUser, kLittle).error().kind, ErrorKind::exhausted);
  EXPECT_TRUE(find(kUser)->empty());
}

TEST_F(HolderSearchTest, HoldersThatDifferAreToldAlsoWhenTheRestIsTooMuch) {
  make(100, kUser);
  open_socket(100);
  make(101, Uid{1002});
  open_socket(101);
  make(200, Uid{2001});
  open_many(200);
  const auto by_uid = find(kUser, kLittle);
  ASSERT_TRUE(by_uid.has_value());
  EXPECT_EQ(by_uid->back().uid, Uid{1002});

  fs::remove_all(path_ / "101");
  make(101, kUser, "/system.slice/docker-" + std::string(64, 'a') + ".scope");
  open_socket(101);
  const auto by_container = find(kUser, kLittle);
  ASSERT_TRUE(by_container.has_value());
  ASSERT_EQ(by_container->size(), 2U);
  EXPECT_NE(by_container->at(0).container, by_container->at(1).container);
}

TEST_F(HolderSearchTest, ProcessesOfTheSocketsUserComeFirst) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: gives directories to another user";
  // Among so many processes only the order finds it within three descriptors.
  for (int pid = 200; pid < 230; ++pid) {
    make(pid, Uid{2001});
    open(pid, 1, "/dev/null");
  }
  make(100, kUser);
  open_socket(100);
  ASSERT_EQ(::chown((path_ / "100").c_str(), kUser.value, 0), 0);
  EXPECT_TRUE(find(kUser, 3).has_value());
}

TEST_F(HolderSearchTest, TimeIsBounded) {
  // Each look at it takes long.
  class SlowClock final : public Clock {
   public:
    MonotonicTime monotonic() const override {
      slow_.advance(Milliseconds(20));
      return slow_.monotonic();
    }
    WallTime wall() const override { return slow_.wall(); }

   private:
    mutable FakeClock slow_;
  };
  make(200, kUser);
  open_many(200);
  const auto holders = find_socket_holders(root_, SlowClock(), kInode, kUser, SearchBudget{});
  ASSERT_FALSE(holders.has_value());
  EXPECT_EQ(holders.error().kind, ErrorKind::exhausted);
}

TEST_F(HolderSearchTest, AHolderWhoseContainerCannotBeReadIsAnError) {
  make(100, kUser);
  open_socket(100);
  fs::remove(path_ / "100/cgroup");
  fs::create_directory(path_ / "100/cgroup");
  EXPECT_FALSE(find(kUser).has_value());
}

TEST(HolderSearchInRealProc, FindsThisProcess) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct stat status{};
  ASSERT_EQ(::fstat(socket.get(), &status), 0);
  const auto holders = find_socket_holders(
      SystemRoot{}, SystemClock(), static_cast<std::uint32_t>(status.st_ino), Uid{::geteuid()},
      {.time = std::chrono::seconds(60), .descriptors = 10'000'000});
  ASSERT_TRUE(holders.has_value());
  ASSERT_EQ(holders->size(), 1U);
  EXPECT_EQ(holders->at(0).key.pid, Pid{::getpid()});
}

}  // namespace
}  // namespace dynolog
