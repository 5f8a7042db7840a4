// What a Lustre client counts: lines of older and newer versions, and nonsense.
#include "kernel/lustre_stats.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace dynolog {
namespace {

std::map<std::string, LustreCounter> counters_of(std::string_view text) {
  std::map<std::string, LustreCounter> counters;
  for_each_lustre_counter(text, [&](const LustreCounter& counter) {
    counters.emplace(std::string(counter.name), counter);
  });
  return counters;
}

TEST(LustreStats, ReadsAFileOfAnOlderVersion) {
  const auto counters = counters_of(
      "snapshot_time             1510950459.772792457 secs.nsecs\n"
      "read_bytes                3 samples [bytes] 4096 4194304 4202496\n"
      "open                      136 samples [regs]\n");
  ASSERT_EQ(counters.size(), 2U) << "the time is no counter";
  const LustreCounter& read = counters.at("read_bytes");
  EXPECT_EQ(read.unit, "bytes");
  EXPECT_EQ(read.samples, 3U);
  EXPECT_EQ(read.minimum, 4096U);
  EXPECT_EQ(read.maximum, 4194304U);
  EXPECT_EQ(read.sum, 4202496U);
  EXPECT_EQ(counters.at("open").samples, 136U);
  EXPECT_EQ(counters.at("open").sum, std::nullopt);
}

TEST(LustreStats, ReadsAFileOfANewerVersion) {
  const auto counters = counters_of(
      "snapshot_time             1695024459.772792457 secs.nsecs\n"
      "start_time                1695000000.000000000 secs.nsecs\n"
      "elapsed_time              24459.772792457 secs.nsecs\n"
      "req_waittime              1885503 samples [usec] 32 4826358 908745020 670751020176306\n"
      "mds_getattr               231 samples [usec] 50 5735 45029 60616599\n");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters.at("req_waittime").sum, 908745020U) << "the squares are behind it";
}

TEST(LustreStats, ALineThatIsNoCounterIsLeftOut) {
  EXPECT_TRUE(counters_of("open -1 samples [regs]\nclose 1 times [regs]\nread 1 samples\n"
                          "write 1 samples []\nseek\n\nstat 18446744073709551616 samples [regs]\n")
                  .empty());
}

TEST(LustreStats, AConnection) {
  const LustreImport import = parse_lustre_import(
      "import:\n"
      "    name: scratch-OST0003-osc-ffff880414c43400\n"
      "    target: scratch-OST0003_UUID\n"
      "    state: FULL\n"
      "    connect_flags: [ write_grant, server_lock, version ]\n"
      "    import_flags: [ replayable, pingable ]\n"
      "    connection:\n"
      "       failover_nids: [ 10.0.0.1@o2ib, 10.0.0.2@o2ib ]\n"
      "       current_connection: 10.0.0.1@o2ib\n"
      "       connection_attempts: 7\n"
      "       generation: 2\n"
      "       in-progress_invalidations: 0\n"
      "    rpcs:\n"
      "       inflight: 5\n"
      "       unregistering: 0\n"
      "       timeouts: 11\n"
      "       avg_waittime: 296 usec\n");
  EXPECT_EQ(import.state, "FULL");
  EXPECT_TRUE(import.is_usable());
  EXPECT_EQ(import.connection_attempts, 7U);
  EXPECT_EQ(import.in_flight, 5U);
  EXPECT_EQ(import.timeouts, 11U);
}

TEST(LustreStats, AConnectionThatIsDownHasCountedNothing) {
  const LustreImport import = parse_lustre_import("import:\n    state: DISCONN\n");
  EXPECT_FALSE(import.is_usable());
  EXPECT_EQ(import.timeouts, std::nullopt);
  EXPECT_TRUE(parse_lustre_import("    state: IDLE\n").is_usable()) << "closed for want of work";
  EXPECT_EQ(parse_lustre_import(std::string_view("\0\0timeouts: x\n", 14)).state, "");
}

}  // namespace
}  // namespace dynolog
