// Collectors of InfiniBand, on the recorded two-socket host and on adapters that come and go.
#include "collectors/infiniband.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/collector_fixture.h"

namespace dynolog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr const char* kHost = "numa-192cpu";

TEST(InfinibandCollector, ReadsARecordedHost) {
  Ticks ticks(make_infiniband_collector(recorded_host(kHost)));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.at("infiniband.state mlx5_0 1"), 4);
  EXPECT_EQ(values.at("infiniband.state mlx5_7 1"), 1);
  EXPECT_EQ(values.at("infiniband.physical_state mlx5_7 1"), 3);
  EXPECT_EQ(values.at("infiniband.rate mlx5_0 1"), 50e9);
  EXPECT_EQ(values.at("infiniband.bytes_received mlx5_3 1"), 4.0 * (4631917 + 3));
  EXPECT_EQ(values.at("infiniband.info mlx5_0 MT_0000000838 28.39.2048 MT4129"), 1);
  EXPECT_THAT(values, Not(Contains(Key("infiniband.vl15_drops mlx5_bond_0 1"))))
      << "N/A (no PMA) is no number";
}

TEST(InfinibandCollector, AdaptersCountAnewAfterADriverIsLoadedAgain) {
  const ProcTree tree;
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  tree.put(port + "state", "4: ACTIVE\n");
  tree.put(port + "rate", "2.5 Gb/sec (1X SDR)\n");
  tree.put(port + "counters/link_downed", "3\n");
  Ticks ticks(make_infiniband_collector(tree.root()));
  EXPECT_EQ(ticks.tick().at("infiniband.rate mlx5_0 1"), 312.5e6);
  tree.remove("sys/class/infiniband");
  EXPECT_TRUE(ticks.tick().empty());
  EXPECT_FALSE(ticks.status());
  tree.put("sys/class/infiniband/roce0/ports/2/state", "1: DOWN\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("infiniband.info roce0   ", 1),
                                        Pair("infiniband.state roce0 2", 1)));
  EXPECT_TRUE(ticks.status());
}

TEST(InfinibandCollector, AmazonsAdapterCountsBytes) {
  const ProcTree tree;
  tree.put("sys/class/infiniband/efa_0/device/vendor", "0x1d0f\n");
  tree.put("sys/class/infiniband/efa_0/ports/1/hw_counters/rx_bytes", "100\n");
  tree.put("sys/class/infiniband/efa_0/ports/1/hw_counters/rx_drops", "2\n");
  Ticks ticks(make_infiniband_collector(tree.root()));
  EXPECT_EQ(ticks.tick().at("infiniband.bytes_received efa_0 1"), 100);
  Ticks hardware(make_infiniband_hw_collector(tree.root()));
  EXPECT_EQ(hardware.tick().at("infiniband.hw.efa.receive_drops efa_0 1"), 2);
}

TEST(InfinibandHwCollector, NamesWhatItKnowsAndPassesOnTheRest) {
  Ticks recorded(make_infiniband_hw_collector(recorded_host(kHost)));
  const auto values = recorded.tick();
  ASSERT_TRUE(recorded.status());
  EXPECT_EQ(values.at("infiniband.hw.write_requests mlx5_2 1"), 873451);
  EXPECT_EQ(values.at("infiniband.hw.lifespan mlx5_2 1"), 0.01);
  EXPECT_EQ(values.at("infiniband.hw.cnps_sent mlx5_bond_0 1"), 41);
  const ProcTree tree;
  tree.put("sys/class/infiniband/bnxt_re0/ports/1/hw_counters/rx_drops", "2\n");
  tree.put("sys/class/infiniband/bnxt_re0/ports/1/hw_counters/odd name", "3\n");
  Ticks ticks(make_infiniband_hw_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("infiniband.hw.other bnxt_re0 1 odd name", 3),
                                        Pair("infiniband.hw.other bnxt_re0 1 rx_drops", 2)));
}

}  // namespace
}  // namespace dynolog
