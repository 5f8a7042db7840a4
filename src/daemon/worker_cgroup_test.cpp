// The workers' control group on directories made up: what is touched, in what order of events, and
// what never is. tests/e2e/test_worker_cgroup.py has the real kernel's.
#include "daemon/worker_cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr Pid kOwn{4711};

class WorkerCgroupTest : public ::testing::Test {
 protected:
  WorkerCgroupTest() {
    std::string pattern = ::testing::TempDir() + "worker_cgroup_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    world_.root.proc = base_ + "/proc";
    world_.root.sys = base_ + "/sys";
    world_.pid = kOwn;
    world_.is_delegated = [this](const std::string& directory) { return directory == delegated_; };
    write("/proc/self/cgroup", "9:memory:/elsewhere\n0::/system.slice/dynolog.service\n");
    write("/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    write(kGroup + "/cgroup.procs", "4711\n");
    write(kGroup + "/cgroup.controllers", "memory pids\n");
    write(kGroup + "/cgroup.subtree_control", "");
    write(kGroup + "/memory.max", "1073741824\n");
    delegated_ = base_ + kGroup;
  }
  ~WorkerCgroupTest() override { fs::remove_all(base_); }

  // The kernel makes these with the directories.
  void give_files() {
    for (const char* group : {"/daemon", "/workers"}) {
      for (const char* name : {"/cgroup.procs", "/memory.max", "/memory.oom.group"}) {
        write(kGroup + group + name, "");
      }
    }
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(base_ + path).parent_path());
    std::ofstream(base_ + path) << text;
  }
  std::string text(const std::string& path) const {
    return read_file(base_ + path, 4096).value_or("none");
  }
  void expect_untouched() const {
    EXPECT_FALSE(fs::exists(base_ + kGroup + "/daemon"));
    EXPECT_FALSE(fs::exists(base_ + kGroup + "/workers"));
    EXPECT_EQ(text(kGroup + "/cgroup.procs"), "4711\n");
    EXPECT_EQ(text(kGroup + "/cgroup.subtree_control"), "");
    EXPECT_EQ(text(kGroup + "/memory.max"), "1073741824\n");
  }
  void expect_unavailable(const std::string& says) const {
    const auto made = WorkerCgroup::make(world_);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::unavailable);
    EXPECT_THAT(made.error().message, HasSubstr(says));
    expect_untouched();
  }

  const std::string kGroup = "/sys/fs/cgroup/system.slice/dynolog.service";
  std::string base_;
  std::string delegated_;
  CgroupWorld world_;
};

TEST_F(WorkerCgroupTest, TheDaemonGoesIntoOneAndTheWorkersAreLimitedInTheOther) {
  give_files();
  const auto made = WorkerCgroup::make(world_);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(text(kGroup + "/daemon/cgroup.procs"), "4711");
  EXPECT_EQ(text(kGroup + "/workers/cgroup.procs"), "");
  EXPECT_EQ(text(kGroup + "/cgroup.subtree_control"), "+memory");
  EXPECT_EQ(text(kGroup + "/workers/memory.oom.group"), "0");
  ASSERT_TRUE(made->limit_memory(768));
  EXPECT_EQ(text(kGroup + "/workers/memory.max"), "805306368");
  EXPECT_EQ(text(kGroup + "/daemon/memory.max"), "");
  EXPECT_EQ(text(kGroup + "/memory.max"), "1073741824\n") << "the unit's is the site's";
}

TEST_F(WorkerCgroupTest, ZeroIsNoLimit) {
  give_files();
  const auto made = WorkerCgroup::make(world_);
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->limit_memory(0));
  EXPECT_EQ(text(kGroup + "/workers/memory.max"), "max");
}

TEST_F(WorkerCgroupTest, NothingIsTouchedThatIsNotDelegated) {
  delegated_ = base_ + "/sys/fs/cgroup/system.slice";  // the parent's is not the daemon's
  expect_unavailable("is not delegated");
}

TEST_F(WorkerCgroupTest, NothingIsTouchedWhereOthersRunToo) {
  for (const char* others : {"4711\n4712\n", "1\n4711\n", "", "47110\n"}) {
    write(kGroup + "/cgroup.procs", others);
    const auto made = WorkerCgroup::make(world_);
    ASSERT_FALSE(made) << others;
    EXPECT_THAT(made.error().message, HasSubstr("not alone"));
    EXPECT_EQ(made.error().kind, ErrorKind::unavailable);
  }
  write(kGroup + "/cgroup.procs", "4711\n");
  expect_untouched();
}

TEST_F(WorkerCgroupTest, NothingIsTouchedOnAHostOfVersionOne) {
  write("/proc/self/cgroup", "9:memory:/system.slice/dynolog.service\n1:name=systemd:/x\n");
  expect_unavailable("in none of version 2");
}

TEST_F(WorkerCgroupTest, NothingIsTouchedOutsideOfItsCgroupNamespace) {
  write("/proc/self/cgroup", "0::/../../system.slice/dynolog.service\n");
  world_.is_delegated = [](const std::string&) { return true; };
  expect_unavailable("in none of version 2");
}

TEST_F(WorkerCgroupTest, WithoutTheControllerTheyAreApartAndUnlimited) {
  give_files();
  write(kGroup + "/cgroup.controllers", "pids\n");
  const auto made = WorkerCgroup::make(world_);
  ASSERT_TRUE(made);
  EXPECT_EQ(text(kGroup + "/daemon/cgroup.procs"), "4711");
  EXPECT_EQ(text(kGroup + "/cgroup.subtree_control"), "+pids");
  EXPECT_TRUE(made->limit_memory(0));
  const auto limited = made->limit_memory(1);
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(limited.error().message, HasSubstr("'memory' is not delegated"));
  EXPECT_EQ(text(kGroup + "/workers/memory.max"), "");
}

TEST_F(WorkerCgroupTest, OneThatCannotBeMovedLeavesNoGroupsBehind) {
  const auto made = WorkerCgroup::make(world_);  // the directories get no files here
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(made.error().message, HasSubstr("daemon/cgroup.procs"));
  expect_untouched();
}

TEST_F(WorkerCgroupTest, OnAHybridHostItIsBesideVersionOne) {
  fs::rename(base_ + "/sys/fs/cgroup", base_ + "/sys/fs/unified");
  fs::create_directory(base_ + "/sys/fs/cgroup");
  fs::rename(base_ + "/sys/fs/unified", base_ + "/sys/fs/cgroup/unified");
  delegated_ = base_ + "/sys/fs/cgroup/unified/system.slice/dynolog.service";
  const auto made = WorkerCgroup::make(world_);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr(delegated_ + "/daemon/cgroup.procs"));
}

// --- in a worker ---

TEST_F(WorkerCgroupTest, AWorkerLeavesTheDaemonsForTheWorkers) {
  give_files();
  write("/proc/self/cgroup", "0::/system.slice/dynolog.service/daemon\n");
  EXPECT_TRUE(join_worker_cgroup(world_));
  EXPECT_EQ(text(kGroup + "/workers/cgroup.procs"), "4711");
}

TEST_F(WorkerCgroupTest, AWorkerStaysWhereNothingWasMade) {
  give_files();
  EXPECT_TRUE(join_worker_cgroup(world_)) << "no group of the daemon's";
  write("/proc/self/cgroup", "0::/system.slice/dynolog.service/daemon\n");
  delegated_ = "";
  EXPECT_TRUE(join_worker_cgroup(world_)) << "a name like the daemon's is no delegation";
  EXPECT_EQ(text(kGroup + "/workers/cgroup.procs"), "");
  delegated_ = base_ + kGroup;
  fs::remove_all(base_ + kGroup + "/workers");
  EXPECT_TRUE(join_worker_cgroup(world_));
}

TEST_F(WorkerCgroupTest, AWorkerSaysThatItCouldNot) {
  write("/proc/self/cgroup", "0::/system.slice/dynolog.service/daemon\n");
  fs::create_directory(base_ + kGroup + "/workers");
  const auto joined = join_worker_cgroup(world_);
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("workers/cgroup.procs"));
}

// --- the sign of delegation ---

TEST(DelegatedCgroup, AnyDirectoryIsNone) {
  EXPECT_FALSE(is_delegated_cgroup(::testing::TempDir()));
  EXPECT_FALSE(is_delegated_cgroup("/nonexistent"));
}

}  // namespace
}  // namespace dynolog
