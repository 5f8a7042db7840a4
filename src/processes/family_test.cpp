// Who started whom, and what belongs together.
#include "processes/family.h"

#include <gtest/gtest.h>

#include "testing/process_entries.h"

namespace dynolog {
namespace {

TEST(Family, StartersThroughProcessesThatDoNotPoll) {
  ProcessEntries host;
  host.add(100, 1, "python a.py");
  host.add_silent(150, 100);
  host.add_silent(160, 150);
  host.add(200, 160, "python b.py");
  host.add(300, 200, "python c.py");
  const Family family(host.all());
  EXPECT_EQ(family.starter(host.entry(100)), nullptr);
  EXPECT_EQ(family.starter(host.entry(200)), &host.entry(100));
  EXPECT_EQ(family.starter(host.entry(300)), &host.entry(200));
  EXPECT_EQ(family.oldest_first().front(), &host.entry(100));
}

TEST(Family, GroupsByJobAndByStarter) {
  ProcessEntries host;
  const Environment job = {{"SLURM_JOB_ID", "9"}};
  host.add(100, 1, "python a.py", job);
  host.add(101, 1, "python a.py", job);
  host.add(200, 101, "python b.py");
  host.add(300, 1, "python c.py");
  host.add(400, 1, "python a.py", job).container = "c";
  host.add(500, 1, "python d.py");
  const Family family(host.all());
  const auto group = [&](int pid) { return family.group(host.entry(pid)); };
  EXPECT_EQ(group(100), group(101));
  EXPECT_EQ(group(100), group(200));
  EXPECT_NE(group(100), group(300));
  EXPECT_NE(group(100), group(400)) << "another tenant";
  EXPECT_NE(group(300), group(500)) << "without a job nothing binds them";
}

TEST(Family, FirstRankOfThoseThatItStarted) {
  ProcessEntries host;
  host.add(100, 1, "python train.py");
  host.add(101, 100, "python train.py",
           {{"NODE_RANK", "0"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "2"}});
  {
    const Family family(host.all());
    EXPECT_EQ(family.job(host.entry(100)).rank, 0);
    EXPECT_EQ(family.job(host.entry(100)).world_size, 2);
    EXPECT_FALSE(family.starts_ranks(host.entry(100)));
  }
  host.add(102, 100, "python train.py",
           {{"NODE_RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}});
  const Family family(host.all());
  EXPECT_EQ(family.job(host.entry(100)).rank, std::nullopt);
  EXPECT_TRUE(family.starts_ranks(host.entry(100)));
}

// No kernel has it, but the facts come from a process that reads them one after the other.
TEST(Family, ARingHasAnEnd) {
  ProcessEntries host;
  host.add(100, 1, "python a.py").parent = Pid{101};
  host.add(101, 100, "python b.py");
  host.entry(100).key.start_ticks = host.entry(101).key.start_ticks;
  const Family family(host.all());
  EXPECT_EQ(family.starter(host.entry(100)), nullptr);
  EXPECT_EQ(family.starter(host.entry(101)), &host.entry(100));
}

}  // namespace
}  // namespace dynolog
