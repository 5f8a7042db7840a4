// Collectors of a Lustre client, on a tree made after what clients of versions 2.15 and 2.10 print.
#include "collectors/lustre.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/collector_fixture.h"
#include "testing/without_capabilities.h"

namespace dynolog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr const char* kHost = "lustre-client";

TEST(LustreCollector, ReadsARecordedMount) {
  Ticks ticks(make_lustre_collector(recorded_host(kHost)));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  const std::string mount = "scratch-ffff9b0a8c2d4800";
  EXPECT_EQ(values.at("lustre.read " + mount), 5368709120);
  EXPECT_EQ(values.at("lustre.write " + mount), 536870912);
  EXPECT_EQ(values.at("lustre.reads " + mount), 5120);
  EXPECT_EQ(values.at("lustre.writes " + mount), 640);
  EXPECT_EQ(values.at("lustre.read_least " + mount), 4096);
  EXPECT_EQ(values.at("lustre.read_most " + mount), 4194304);
  EXPECT_EQ(values.at("lustre.write_least " + mount), 1);
  EXPECT_EQ(values.at("lustre.write_most " + mount), 1048576);
  EXPECT_EQ(values.at("lustre.operations open " + mount), 136);
  EXPECT_EQ(values.at("lustre.operations inode_permission " + mount), 39812);
  EXPECT_EQ(values.size(), 8U + 10U);
}

TEST(LustreCollector, ReadsTheRecordedTargets) {
  Ticks ticks(make_lustre_targets_collector(recorded_host(kHost)));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  const std::string good = "scratch-OST0000-osc-ffff9b0a8c2d4800";
  const std::string bad = "scratch-OST0001-osc-ffff9b0a8c2d4800";
  const std::string metadata = "scratch-MDT0000-mdc-ffff9b0a8c2d4800";
  EXPECT_EQ(values.at("lustre.target.usable " + good), 1);
  EXPECT_EQ(values.at("lustre.target.usable " + bad), 0);
  EXPECT_EQ(values.at("lustre.target.usable " + metadata), 1);
  EXPECT_EQ(values.at("lustre.target.connection_attempts " + bad), 7);
  EXPECT_EQ(values.at("lustre.target.timeouts " + bad), 11);
  EXPECT_EQ(values.at("lustre.target.in_flight " + good), 3);
  EXPECT_EQ(values.at("lustre.target.requests " + metadata), 1024);
  EXPECT_EQ(values.at("lustre.target.wait_time " + metadata), 0.512);
  EXPECT_EQ(values.at("lustre.target.read " + good), 4294967296);
  EXPECT_EQ(values.at("lustre.target.write " + good), 402653184);
  EXPECT_THAT(values, Not(Contains(Key("lustre.target.write " + bad)))) << "it wrote nothing yet";
}

// Until version 2.11 the files were in /proc, and the operations had no times.
TEST(LustreCollector, ReadsAnOlderClient) {
  const ProcTree tree;
  tree.write("fs/lustre/llite/home-ffff88105db50000/stats",
             "snapshot_time 1510950459.772792 secs.usecs\n"
             "write_bytes 2 samples [bytes] 4096 8192 12288\nopen 3 samples [regs]\n");
  tree.write("fs/lustre/osc/home-OST0000-osc-ffff88105db50000/import", "import:\n state: IDLE\n");
  Ticks mounts(make_lustre_collector(tree.root()));
  EXPECT_THAT(mounts.tick(), ElementsAre(Pair("lustre.operations open home-ffff88105db50000", 3),
                                         Pair("lustre.write home-ffff88105db50000", 12288),
                                         Pair("lustre.write_least home-ffff88105db50000", 4096),
                                         Pair("lustre.write_most home-ffff88105db50000", 8192),
                                         Pair("lustre.writes home-ffff88105db50000", 2)));
  Ticks targets(make_lustre_targets_collector(tree.root()));
  EXPECT_THAT(targets.tick(),
              ElementsAre(Pair("lustre.target.usable home-OST0000-osc-ffff88105db50000", 1)));
}

TEST(LustreCollector, MountsComeAndGoAndOperationsToo) {
  const ProcTree tree;
  Ticks ticks(make_lustre_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), IsEmpty());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::unavailable);
  const std::string a = "sys/kernel/debug/lustre/llite/a-ffff1/stats";
  tree.put(a, "open 1 samples [regs]\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("lustre.operations open a-ffff1", 1)));
  tree.put(a, "close 2 samples [regs]\nopen 2 samples [regs]\n");
  EXPECT_EQ(ticks.tick().size(), 2U);
  tree.put(a, "close 3 samples [regs]\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("lustre.operations close a-ffff1", 3)));
  tree.remove("sys/kernel/debug/lustre/llite/a-ffff1");
  EXPECT_THAT(ticks.tick(), IsEmpty());
  EXPECT_THAT(ticks.status().error().message, HasSubstr("no Lustre file system is mounted"));
}

// A file may be longer than one page, and than one read of it.
TEST(LustreCollector, AFileOfAnyLength) {
  const ProcTree tree;
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text += "operation_" + std::to_string(i) + " 7 samples [usec] 1 2 3 4\n";
  }
  tree.put("sys/kernel/debug/lustre/llite/a-ffff1/stats", text);
  Ticks ticks(make_lustre_collector(tree.root()));
  EXPECT_EQ(ticks.tick().size(), 500U);
}

TEST(LustreCollector, SaysThatDebugfsIsRoots) {
  const ProcTree tree;
  tree.put("sys/fs/lustre/version", "lustre: 2.15.5\n");
  tree.put("sys/kernel/debug/lustre/llite/a-ffff1/stats", "open 1 samples [regs]\n");
  std::filesystem::permissions(tree.root().sys + "/kernel/debug", std::filesystem::perms::none);
  const WithoutCapabilities unprivileged;
  Ticks ticks(make_lustre_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), IsEmpty());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::denied);
  EXPECT_THAT(ticks.status().error().message, HasSubstr("kernel/debug/lustre"));
}

}  // namespace
}  // namespace dynolog
