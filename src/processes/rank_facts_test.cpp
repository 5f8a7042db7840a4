// Which processes are ranks, and what labels say of them.
#include "processes/rank_facts.h"

#include <gtest/gtest.h>

#include "testing/process_entries.h"

namespace dynolog {
namespace {

TEST(RankFacts, WorkersOnly) {
  ProcessEntries entries;
  entries.add(10, 1, "torchrun train.py", {});
  for (int i = 0; i < 2; ++i) {
    ProcessFacts& facts =
        entries.add(11 + i, 10, "python train.py", torchrun_environment(i + 2, 8, i, 2));
    facts.gpus = {i};
  }
  entries.add(20, 11, kSpawned, torchrun_environment(2, 8, 0, 2)).thread_name = "pt_data_worker";
  const auto ranks = ranks_of(entries.all());
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].key.pid, Pid{11});
  EXPECT_EQ(ranks[0].job, "n1:29500");
  EXPECT_EQ(ranks[0].rank, "2");
  EXPECT_EQ(ranks[0].local_rank, "0");
  EXPECT_EQ(ranks[0].world_size, "8");
  EXPECT_EQ(ranks[1].gpu, "1");
  EXPECT_EQ(ranks[1].user, "");
}

TEST(RankFacts, TheGpuOfARank) {
  ProcessEntries entries;
  ProcessFacts& facts = entries.add(11, 1, "python train.py");
  const auto gpu = [&] { return ranks_of(entries.all()).at(0).gpu; };
  EXPECT_EQ(gpu(), "");
  facts.gpus = {0, 1, 2, 3};
  EXPECT_EQ(gpu(), "0,1,2,3");
  facts.cuda_visible_devices = "2";
  EXPECT_EQ(gpu(), "2");
  facts.cuda_visible_devices = "7";
  EXPECT_EQ(gpu(), "0,1,2,3") << "one that it does not hold is no minor number";
  facts.cuda_visible_devices = "1,2";
  EXPECT_EQ(gpu(), "0,1,2,3");
}

TEST(RankFacts, WhoIsNotKnownYetIsNone) {
  ProcessEntries entries;
  entries.add(11, 1, "python train.py");
  entries.entry(11).facts.reset();
  EXPECT_TRUE(ranks_of(entries.all()).empty());
}

}  // namespace
}  // namespace dynolog
