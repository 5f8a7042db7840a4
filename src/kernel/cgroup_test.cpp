// Control groups of both versions: which paths are jobs and pods, and what files say.
#include "kernel/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace dynolog {
namespace {

using ::testing::UnorderedElementsAre;

std::string described(std::string_view path) {
  const auto place = cgroup_place(path);
  if (!place) return "";
  std::string text(to_string(place->kind));
  for (const std::string_view part : {place->job, place->step, place->task}) {
    if (!part.empty()) text += " " + std::string(part);
  }
  return text;
}

TEST(Cgroup, PathsOfSlurm) {
  EXPECT_EQ(described("/system.slice/slurmstepd.scope/job_7"), "slurm_job 7");
  EXPECT_EQ(described("/system.slice/n1_slurmstepd.scope/job_7/step_batch"), "slurm_step 7 batch");
  EXPECT_EQ(described("/system.slice/slurmstepd.scope/job_7/step_0/user/task_3"),
            "slurm_task 7 0 3");
  EXPECT_EQ(described("/slurm/uid_1000/job_12/step_extern/task_0"), "slurm_task 12 extern 0");
  EXPECT_EQ(described("/slurm_node1/uid_1000/job_12"), "slurm_job 12");
  for (const char* other :
       {"/home/job_7", "/slurm/job_", "/slurm/job_x", "/slurm/job_7/task_1", "/slurm",
        "/system.slice/slurmstepd.scope/job_7/step_0/user", "/job_7/step_0", "", "/"}) {
    EXPECT_EQ(described(other), "") << other;
  }
}

TEST(Cgroup, PathsOfPods) {
  EXPECT_EQ(described("/kubepods/burstable/pod12345678-abcd"), "pod 12345678-abcd");
  EXPECT_EQ(described("/kubepods.slice/kubepods-pod12345678_abcd.slice"), "pod 12345678_abcd");
  EXPECT_EQ(described("/kubepods.slice/kubepods-burstable.slice/"
                      "kubepods-burstable-pod12345678_abcd.slice"),
            "pod 12345678_abcd");
  for (const char* other :
       {"/kubepods", "/kubepods/burstable",
        "/kubepods.slice/kubepods-burstable"
        ".slice",
        "/pod12345678", "/user/podcasts/x", "/kubepods/pod12345678-abcd/container"}) {
    EXPECT_EQ(described(other), "") << other;
  }
}

class CgroupTree : public ::testing::Test {
 protected:
  CgroupTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dynolog-cg-XXXXXX").string();
    top_ = ::mkdtemp(pattern.data());
  }
  ~CgroupTree() override { std::filesystem::remove_all(top_); }
  void make(const std::string& path) const { std::filesystem::create_directories(top_ + path); }
  std::vector<std::string> walked(std::vector<std::string> slices) const {
    CgroupWalk walk(top_, std::move(slices));
    std::vector<std::string> found;
    walk.for_each([&](const CgroupPlace& place) { found.emplace_back(place.path); });
    EXPECT_EQ(walk.left_out(), 0U);
    return found;
  }
  std::string top_;
};

TEST_F(CgroupTree, WalksToWhatCounts) {
  make("/system.slice/sshd.service");
  make("/system.slice/slurmstepd.scope/job_7/step_0/user/task_0");
  make("/system.slice/slurmstepd.scope/job_7/step_0/slurm");
  make("/system.slice/slurmstepd.scope/system");
  make("/slurm/uid_5/job_8/step_1/task_2");
  make("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12345678_ab.slice/cri-1");
  make("/kubepods/podabcdefgh/c1");
  make("/user.slice/user-0.slice");
  EXPECT_THAT(
      walked({"system.slice", "none.slice", "system.slice/sshd.service"}),
      UnorderedElementsAre(
          "/system.slice", "/system.slice/sshd.service", "/system.slice/slurmstepd.scope/job_7",
          "/system.slice/slurmstepd.scope/job_7/step_0",
          "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "/slurm/uid_5/job_8",
          "/slurm/uid_5/job_8/step_1", "/slurm/uid_5/job_8/step_1/task_2",
          "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12345678_ab.slice",
          "/kubepods/podabcdefgh"));
  EXPECT_EQ(walked({}).size(), 8U);
}

TEST_F(CgroupTree, ThereIsALimit) {
  for (std::size_t i = 0; i < kMaxCgroups + 5; ++i) {
    make("/slurm/uid_5/job_" + std::to_string(i));
  }
  CgroupWalk walk(top_, {});
  std::size_t seen = 0;
  walk.for_each([&](const CgroupPlace&) { ++seen; });
  EXPECT_EQ(seen, kMaxCgroups);
  EXPECT_EQ(walk.left_out(), 5U);
}

TEST_F(CgroupTree, LayoutsOfBothVersions) {
  EXPECT_FALSE(find_cgroups(top_));
  make("/fs/cgroup/memory");
  make("/fs/cgroup/cpu,cpuacct");
  make("/fs/cgroup/blkio");
  auto layout = find_cgroups(top_);
  ASSERT_TRUE(layout);
  EXPECT_FALSE(layout->unified);
  EXPECT_EQ(layout->cpu, top_ + "/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(layout->cpuacct, layout->cpu);
  EXPECT_EQ(layout->io, top_ + "/fs/cgroup/blkio");
  EXPECT_EQ(layout->pids, "");
  EXPECT_EQ(layout->pressure, "");
  make("/fs/cgroup/unified/cgroup.controllers");
  EXPECT_EQ(find_cgroups(top_)->pressure, top_ + "/fs/cgroup/unified") << "hybrid";
  make("/fs/cgroup/cgroup.controllers");
  EXPECT_TRUE(find_cgroups(top_)->unified);
}

TEST(Cgroup, Texts) {
  EXPECT_EQ(cgroup_limit("max\n"), std::nullopt);
  EXPECT_EQ(cgroup_limit("9223372036854771712\n"), std::nullopt) << "version 1 without a limit";
  EXPECT_EQ(cgroup_limit("1073741824"), 1073741824);
  EXPECT_EQ(cgroup_limit("-1"), std::nullopt);
  EXPECT_EQ(cgroup_cpu_limit("max 100000\n"), std::nullopt);
  EXPECT_EQ(cgroup_cpu_limit("250000 100000\n"), 2.5);
  EXPECT_EQ(cgroup_cpu_limit("1 0"), std::nullopt);
  const CgroupIo io = parse_cgroup_io(
      "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=9 dios=9\n"
      "8:16 rbytes=10 wbytes=x rios=30 wios=40\nbroken =\n");
  EXPECT_EQ(io.read_bytes, 11U);
  EXPECT_EQ(io.written_bytes, 2U);
  EXPECT_EQ(io.reads, 33U);
  EXPECT_EQ(io.writes, 44U);
  const BlkioSums sums =
      parse_blkio("8:0 Read 5\n8:0 Write 6\n8:16 Read 7\n8:0 Total 11\nTotal 18\n");
  EXPECT_EQ(sums.reads, 12U);
  EXPECT_EQ(sums.writes, 6U);
}

}  // namespace
}  // namespace dynolog
