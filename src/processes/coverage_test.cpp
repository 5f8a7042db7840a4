// What is said about the ranks of a job that are here.
#include "processes/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testing/process_entries.h"

namespace dynolog {
namespace {

class CoverageTest : public testing::Test {
 protected:
  // Ranks of one host as torchrun starts them.
  void torchrun(std::vector<int> ranks, int world_size, int first, int local_size) {
    for (const int rank : ranks) {
      host_.add(100 + rank % 1000, 1, "python train.py",
                torchrun_environment(rank, world_size, rank - first, local_size));
    }
  }
  // Ranks without a word on this host's.
  void ranks(std::vector<int> ranks, const std::string& world_size,
             const std::string& port = "29500") {
    for (const int rank : ranks) {
      Environment environment = {
          {"RANK", std::to_string(rank)}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", port}};
      if (!world_size.empty()) environment["WORLD_SIZE"] = world_size;
      host_.add(next_pid_++, 1, "python train.py", environment);
    }
  }
  std::string all() { return coverage(host_.all(), host_.all()); }
  std::string only(std::vector<int> pids) {
    std::vector<const ProcessEntry*> chosen;
    for (const int pid : pids) chosen.push_back(&host_.entry(pid));
    return coverage(chosen, host_.all());
  }

  ProcessEntries host_;
  int next_pid_ = 500;
};

TEST_F(CoverageTest, Whole) {
  torchrun({0, 1, 2, 3, 4, 5, 6, 7}, 8, 0, 8);
  EXPECT_EQ(all(), "8 of 8 ranks here");
  EXPECT_EQ(only({103, 104}), "8 of 8 ranks here, 2 chosen");
}

TEST_F(CoverageTest, MissingOnOneHost) {
  torchrun({0, 1, 2, 4, 5, 6, 7}, 8, 0, 8);
  EXPECT_EQ(all(), "7 of 8 ranks here; rank 3 is missing");
  EXPECT_EQ(only({100}), "7 of 8 ranks here, 1 chosen; rank 3 is missing");
}

TEST_F(CoverageTest, TheRestOnOtherHosts) {
  torchrun({0, 1, 2, 3}, 8, 0, 4);
  EXPECT_EQ(all(), "4 of 8 ranks here; ranks 4-7 are not on this host");
  host_.clear();
  torchrun({4, 5, 6, 7}, 12, 4, 4);
  EXPECT_EQ(all(), "4 of 12 ranks here; ranks 0-3, 8-11 are not on this host");
}

TEST_F(CoverageTest, MissingHereAndTheRestOnOtherHosts) {
  torchrun({4, 7}, 9, 4, 4);
  EXPECT_EQ(all(), "2 of 9 ranks here; ranks 5-6 are missing; ranks 0-3, 8 are not on this host");
}

TEST_F(CoverageTest, NobodySaysHowManyAreHere) {
  ranks({0, 1, 2, 4, 5, 6, 7}, "8");
  EXPECT_EQ(all(), "7 of 8 ranks here; rank 3 is missing or elsewhere");
  host_.clear();
  ranks({0}, "2");
  EXPECT_EQ(all(), "1 of 2 ranks here; rank 1 is missing or elsewhere");
}

TEST_F(CoverageTest, ASchedulerMayDealRanksOut) {
  const auto task = [&](int rank, int local_rank) {
    host_.add(next_pid_++, 1, "python train.py",
              {{"SLURM_JOB_ID", "9"},
               {"SLURM_PROCID", std::to_string(rank)},
               {"SLURM_LOCALID", std::to_string(local_rank)},
               {"SLURM_NTASKS", "6"},
               {"SLURM_STEP_TASKS_PER_NODE", "3(x2)"}});
  };
  task(1, 0);
  EXPECT_EQ(all(), "1 of 6 ranks here; ranks 0, 2-5 are missing or elsewhere")
      << "one rank alone does not tell in which order they are";
  task(3, 1);
  EXPECT_EQ(all(), "2 of 6 ranks here; ranks 0, 2, 4-5 are missing or elsewhere");
  task(5, 2);
  EXPECT_EQ(all(), "3 of 6 ranks here; ranks 0, 2, 4 are not on this host");
}

TEST_F(CoverageTest, NoWorldSize) {
  ranks({0, 1, 3}, "");
  EXPECT_EQ(all(), "3 ranks here (0-1, 3), of how many is not known");
  host_.clear();
  ranks({2}, "");
  EXPECT_EQ(all(), "1 rank here (2), of how many is not known");
}

TEST_F(CoverageTest, NoRanks) {
  host_.add(100, 1, "python train.py");
  EXPECT_EQ(all(), "");
  EXPECT_EQ(coverage({}, host_.all()), "");
  host_.entry(100).facts.reset();
  EXPECT_EQ(all(), "");
}

TEST_F(CoverageTest, SeveralJobs) {
  ranks({0, 1}, "2", "29500");
  ranks({1}, "2", "29501");
  host_.add(100, 1, "python train.py");
  EXPECT_EQ(all(),
            "torchrun:n1:29500: 2 of 2 ranks here | "
            "torchrun:n1:29501: 1 of 2 ranks here; rank 0 is missing or elsewhere");
  EXPECT_EQ(only({502}), "1 of 2 ranks here; rank 0 is missing or elsewhere");
}

TEST_F(CoverageTest, AJobsStepsHaveRanksOfTheirOwn) {
  for (const char* step : {"0", "1"}) {
    host_.add(next_pid_++, 1, "python train.py",
              {{"SLURM_JOB_ID", "9"},
               {"SLURM_STEP_ID", step},
               {"SLURM_PROCID", "0"},
               {"SLURM_LOCALID", "0"},
               {"SLURM_NTASKS", "1"}});
  }
  EXPECT_EQ(all(), "slurm:9.0: 1 of 1 ranks here | slurm:9.1: 1 of 1 ranks here");
}

TEST_F(CoverageTest, ManyJobsAreCutShort) {
  for (int job = 0; job < 100; ++job) ranks({0}, "1", std::to_string(10000 + job));
  EXPECT_TRUE(all().ends_with(" | ..."));
  EXPECT_EQ(std::ranges::count(all(), '|'), 8);
}

TEST_F(CoverageTest, ChosenWithoutARank) {
  ranks({0, 1}, "2");
  Environment same = {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
  host_.add(600, 1, "python other.py", same);
  EXPECT_EQ(all(), "2 of 2 ranks here; 1 chosen process without a known rank");
  EXPECT_EQ(only({500, 501}), "2 of 2 ranks here");
}

TEST_F(CoverageTest, DataLoadersAreNoRanks) {
  torchrun({0}, 2, 0, 2);
  host_.add(301, 100, kSpawned, torchrun_environment(0, 2, 0, 2)).job.rank = 1;
  host_.entry(301).facts->thread_name = "pt_data_worker";
  EXPECT_EQ(only({100}), "1 of 2 ranks here; rank 1 is missing");
}

TEST_F(CoverageTest, OthersJobsOfTheSameNameDoNotCount) {
  ranks({0, 1}, "2");
  host_.entry(501).uid = host_.entry(501).facts->uid = Uid{1001};
  EXPECT_EQ(only({500}), "1 of 2 ranks here; rank 1 is missing or elsewhere");
  host_.entry(501).uid = host_.entry(501).facts->uid = ProcessEntries::kUser;
  host_.entry(501).facts->container = "c";
  EXPECT_EQ(only({500}), "1 of 2 ranks here; rank 1 is missing or elsewhere");
}

TEST_F(CoverageTest, HostileNumbers) {
  ranks({2147483646, 5}, "2147483647");
  EXPECT_EQ(all(), "2 of 2147483647 ranks here; ranks 0-4, 6-2147483645 are missing or elsewhere");
  host_.clear();
  torchrun({2147483640}, 2147483647, 2147483640, 2147483647);
  torchrun({3}, 2147483647, 3, 2147483647);
  EXPECT_EQ(all(),
            "2 of 2147483647 ranks here; ranks 0-2, 4-2147483639, 2147483641-2147483646 are "
            "missing or elsewhere");
  host_.clear();
  std::vector<int> every_second;
  for (int rank = 0; rank < 100; rank += 2) every_second.push_back(rank);
  ranks(every_second, "100");
  EXPECT_EQ(all(),
            "50 of 100 ranks here; ranks 1, 3, 5, 7, 9, 11, 13, 15, ... are missing or elsewhere");
}

}  // namespace
}  // namespace dynolog
