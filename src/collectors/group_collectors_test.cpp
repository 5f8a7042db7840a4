// Collectors of control groups and of jobs, on hosts of both versions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collectors/cgroups.h"
#include "collectors/collector_fixture.h"
#include "collectors/jobs.h"

namespace dynolog {
namespace {

using ::testing::IsEmpty;

std::unique_ptr<Collector> cgroups_of(const SystemRoot& root) {
  return make_cgroups_collector(root, CollectorOptions::Cgroups{}, 100);
}

TEST(Cgroups, SlurmOfVersion2) {
  Ticks ticks(cgroups_of(recorded_host("slurm-cgroup2")));
  const auto values = ticks.tick();
  EXPECT_TRUE(ticks.status());
  EXPECT_EQ(values.at("cgroup.info slurm/4711 slurm_job 4711   "), 1);
  EXPECT_EQ(values.at("cgroup.info slurm/4711/0/1 slurm_task 4711 0 1 "), 1);
  EXPECT_EQ(values.at("cgroup.info slice/system.slice slice    "), 1);
  EXPECT_DOUBLE_EQ(values.at("cgroup.cpu_time slurm/4711 user"), 5);
  EXPECT_DOUBLE_EQ(values.at("cgroup.cpu_time slurm/4711/0/1 system"), 0.5);
  EXPECT_DOUBLE_EQ(values.at("cgroup.cpu_throttled_time slurm/4711"), 0.25);
  EXPECT_EQ(values.at("cgroup.cpu_throttled_periods slurm/4711"), 3);
  EXPECT_EQ(values.at("cgroup.cpu_limit slurm/4711"), 8);
  EXPECT_FALSE(values.contains("cgroup.cpu_limit slurm/4711/0"));
  EXPECT_EQ(values.at("cgroup.memory slurm/4711"), 4e9);
  EXPECT_EQ(values.at("cgroup.memory_anonymous slurm/4711"), 3e9);
  EXPECT_EQ(values.at("cgroup.memory_limit slurm/4711"), 8589934592);
  EXPECT_FALSE(values.contains("cgroup.memory_limit slurm/4711/0"));
  EXPECT_EQ(values.at("cgroup.memory_events slurm/4711 oom_kill"), 1);
  EXPECT_EQ(values.at("cgroup.io slurm/4711 read"), 5096);
  EXPECT_EQ(values.at("cgroup.io_operations slurm/4711 write"), 2);
  EXPECT_DOUBLE_EQ(values.at("cgroup.pressure slurm/4711 memory stalled"), 0.5);
  EXPECT_EQ(values.at("cgroup.tasks slurm/4711"), 24);
  EXPECT_FALSE(values.contains("cgroup.tasks_limit slurm/4711"));
  EXPECT_TRUE(values.contains("cgroup.tasks slurm/4711/extern"));
}

TEST(Cgroups, TellsWhichJobLostProcessesForWantOfMemory) {
  const ProcTree tree;
  const std::string job = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711";
  tree.put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  const auto kill = [&](const std::string& all) {
    for (const char* group : {"", "/step_0", "/step_0/user/task_1"}) {
      tree.put(job + group + "/memory.events", "high 0\nmax 3\noom 1\noom_kill " + all + "\n");
    }
  };
  kill("1");
  Ticks ticks(cgroups_of(tree.root()));
  EXPECT_EQ(ticks.tick().at("cgroup.memory_events slurm/4711 oom_kill"), 1);
  EXPECT_TRUE(ticks.events().empty());
  kill("2");
  ticks.tick();
  ASSERT_EQ(ticks.events().size(), 1U) << "not of its steps and tasks again";
  EXPECT_EQ(ticks.events()[0].subject, "slurm/4711");
  EXPECT_EQ(ticks.events()[0].text, "the kernel killed 1 process for want of memory");
}

TEST(Cgroups, Version1AndHybrid) {
  Ticks ticks(cgroups_of(recorded_host("cgroup-v1")));
  const auto values = ticks.tick();
  EXPECT_TRUE(ticks.status());
  EXPECT_DOUBLE_EQ(values.at("cgroup.cpu_time slurm/4711 user"), 50);
  EXPECT_DOUBLE_EQ(values.at("cgroup.cpu_throttled_time slurm/4711"), 0.25);
  EXPECT_EQ(values.at("cgroup.cpu_limit slurm/4711"), 8);
  EXPECT_FALSE(values.contains("cgroup.cpu_limit slurm/4711/0"));
  EXPECT_EQ(values.at("cgroup.memory_anonymous slurm/4711/0/1"), 1.5e9);
  EXPECT_EQ(values.at("cgroup.memory_limit slurm/4711"), 8589934592);
  EXPECT_FALSE(values.contains("cgroup.memory_limit slurm/4711/0"));
  EXPECT_EQ(values.at("cgroup.memory_events slurm/4711 max"), 5);
  EXPECT_EQ(values.at("cgroup.memory_events slurm/4711 oom_kill"), 1);
  EXPECT_EQ(values.at("cgroup.swap slurm/4711"), 4096);
  EXPECT_EQ(values.at("cgroup.io slurm/4711 read"), 5096);
  EXPECT_EQ(values.at("cgroup.io_operations slurm/4711 read"), 2);
  EXPECT_EQ(values.at("cgroup.info pod/0f1e2d3c-4b5a-6978 pod    0f1e2d3c-4b5a-6978"), 1);
  EXPECT_DOUBLE_EQ(values.at("cgroup.pressure slice/system.slice cpu waiting"), 1.5)
      << "from the tree of version 2 beside it";
}

TEST(Cgroups, GroupsComeAndGoAndLimitsAreLifted) {
  const ProcTree tree;
  const std::string job = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_1";
  tree.put("sys/fs/cgroup/cgroup.controllers", "memory\n");
  tree.put(job + "/memory.current", "10\n");
  tree.put(job + "/memory.max", "100\n");
  Ticks ticks(cgroups_of(tree.root()));
  EXPECT_EQ(ticks.tick().at("cgroup.memory_limit slurm/1"), 100);
  tree.put(job + "/memory.max", "max\n");
  EXPECT_FALSE(ticks.tick().contains("cgroup.memory_limit slurm/1"));
  tree.put(job + "/memory.max", "50\n");
  EXPECT_EQ(ticks.tick().at("cgroup.memory_limit slurm/1"), 50);
  tree.remove(job);
  const auto values = ticks.tick();
  EXPECT_FALSE(values.contains("cgroup.memory slurm/1"));
  EXPECT_TRUE(values.contains("cgroup.info slice/system.slice slice    "));
  Ticks none(cgroups_of(recorded_host("restricted")));
  EXPECT_THAT(none.tick(), IsEmpty());
  EXPECT_EQ(none.status().error().kind, ErrorKind::unavailable);
}

class JobsTest : public ::testing::Test {
 protected:
  void process(int pid, int start) const {
    const std::string directory = std::to_string(pid);
    tree_.write(
        directory + "/stat",
        fmt::format("{} (python) S 1 1 1 0 -1 0 10 0 2 0 1500 300 0 0 20 0 12 0 {} 8192 25 0", pid,
                    start));
    tree_.write(directory + "/status",
                "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n");
    tree_.write(directory + "/io", "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4\n");
  }
  static RankFacts rank(int pid, int start, std::string number) {
    RankFacts facts;
    facts.key = {Pid{pid}, static_cast<std::uint64_t>(start)};
    facts.job = "36199_0";
    facts.allocation = "36200";
    facts.scheduler = "slurm";
    facts.step = "0";
    facts.rank = std::move(number);
    return facts;
  }

  ProcTree tree_;
  std::shared_ptr<FakeAsked<std::vector<RankFacts>>> registry_ =
      std::make_shared<FakeAsked<std::vector<RankFacts>>>();
  Ticks ticks_{make_jobs_collector(tree_.root(), registry_, 4096, 100)};
};

TEST_F(JobsTest, ARankAndWhatItUses) {
  process(100, 7);
  registry_->answer(std::vector{rank(100, 7, "3")});
  const auto values = ticks_.tick();
  EXPECT_EQ(values.at("job.info 0 36199_0 slurm 0 3    slurm/36200/0 "), 1);
  EXPECT_EQ(values.at("job.process.cpu_time 0 user"), 15);
  EXPECT_EQ(values.at("job.process.resident_memory 0"), 25 * 4096);
  EXPECT_EQ(values.at("job.process.page_faults 0 major"), 2);
  EXPECT_EQ(values.at("job.process.context_switches 0 involuntary"), 6);
  EXPECT_EQ(values.at("job.process.disk_io 0 write"), 4);
  EXPECT_EQ(values.at("job.process.io 0 read"), 1);
  EXPECT_EQ(values.at("job.process.state 0 sleeping"), 1);
  EXPECT_EQ(values.at("job.process.state 0 running"), 0);
  EXPECT_EQ(registry_->asked, 1);
  for (int i = 0; i < 10; ++i) ticks_.tick();
  EXPECT_EQ(registry_->asked, 2) << "who is there is asked for every ten seconds";
}

TEST_F(JobsTest, ProcessesEndAndNumbersAreTakenAgain) {
  process(100, 7);
  process(101, 8);
  registry_->answer(std::vector{rank(100, 7, "0"), rank(101, 8, "1")});
  EXPECT_TRUE(ticks_.tick().contains("job.process.threads 1"));
  tree_.write("100/stat", "gone");
  process(101, 9);  // another process with its pid
  EXPECT_THAT(ticks_.tick(), IsEmpty());
  process(102, 9);
  registry_->answer(std::vector{rank(102, 9, "5")});
  const auto values = ticks_.tick();
  EXPECT_TRUE(values.contains("job.info 0 36199_0 slurm 0 5    slurm/36200/0 "));
  EXPECT_FALSE(values.contains("job.process.threads 1"));
}

TEST_F(JobsTest, WhatIsLearntLaterIsAnotherInfo) {
  process(100, 7);
  RankFacts facts = rank(100, 7, "0");
  registry_->answer(std::vector{facts});
  ticks_.tick();
  facts.gpu = "4";
  facts.user = "alice";
  registry_->answer(std::vector{facts});
  const auto values = ticks_.tick();
  EXPECT_TRUE(values.contains("job.info 0 36199_0 slurm 0 0   4 slurm/36200/0 alice"));
  EXPECT_EQ(std::ranges::count_if(
                values, [](const auto& value) { return value.first.starts_with("job.info"); }),
            1);
}

TEST_F(JobsTest, HiddenFilesAreNoValues) {
  process(100, 7);
  tree_.remove("proc/100/io");
  registry_->answer(std::vector{rank(100, 7, "0")});
  const auto values = ticks_.tick();
  EXPECT_FALSE(values.contains("job.process.io 0 read"));
  EXPECT_TRUE(values.contains("job.process.threads 0"));
  Ticks nobody(make_jobs_collector(tree_.root(), nullptr, 4096, 100));
  EXPECT_THAT(nobody.tick(), IsEmpty());
  EXPECT_TRUE(nobody.status());
}

}  // namespace
}  // namespace dynolog
