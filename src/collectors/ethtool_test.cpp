// Collector `ethtool`, with a driver of the test's own.
#include "collectors/ethtool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <numeric>

#include "collectors/collector_fixture.h"

namespace dynolog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

using Statistics = std::vector<std::pair<std::string, std::uint64_t>>;

class FakeEthtool final : public Ethtool {
 public:
  explicit FakeEthtool(std::map<std::string, Statistics>& devices) : devices_(devices) {}

  [[nodiscard]] std::expected<EthtoolDriver, int> driver(std::string_view device) override {
    const auto found = devices_.find(std::string(device));
    if (found == devices_.end()) return std::unexpected(EOPNOTSUPP);
    return EthtoolDriver{.driver = "mlx5_core",
                         .version = "6.1",
                         .firmware = "28.39",
                         .bus = "0000:17:00.0",
                         .rom = "",
                         .statistics = static_cast<std::uint32_t>(found->second.size())};
  }
  [[nodiscard]] Result<std::vector<std::string>> names(std::string_view device,
                                                       std::uint32_t) override {
    std::vector<std::string> names;
    for (const auto& [name, value] : devices_.at(std::string(device))) names.push_back(name);
    return names;
  }
  [[nodiscard]] bool values(std::string_view device, std::span<std::uint64_t> values) override {
    const auto found = devices_.find(std::string(device));
    if (found == devices_.end() || found->second.size() != values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = found->second[i].second;
    return true;
  }

 private:
  std::map<std::string, Statistics>& devices_;
};

class EthtoolCollectorTest : public testing::Test {
 protected:
  EthtoolCollectorTest() {
    for (const char* device : {"eth0", "dummy0", "lo"}) {
      tree_.put("sys/class/net/" + std::string(device) + "/ifindex", "1\n");
    }
  }
  Ticks collector(const CollectorOptions& options = {}) {
    return Ticks(must(
        make_ethtool_collector(tree_.root(), options, std::make_unique<FakeEthtool>(devices_))));
  }
  ProcTree tree_;
  std::map<std::string, Statistics> devices_;
};

TEST_F(EthtoolCollectorTest, TakesWhatTheOptionsSay) {
  devices_["eth0"] = {{"rx_packets", 7},
                      {"rx_discards_phy", 3},
                      {"rx0_packets", 5},
                      {"tx_queue_3_drops", 1},
                      {"module_bus_stuck", 9}};
  devices_["lo"] = {{"rx_packets", 1}};
  Ticks ticks = collector();
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("ethtool.info eth0 0000:17:00.0 mlx5_core  28.39 6.1", 1),
                          Pair("ethtool.statistic eth0 received_discards_phy", 3),
                          Pair("ethtool.statistic eth0 received_packets_total", 7)));
  EXPECT_TRUE(ticks.status());
  CollectorOptions all;
  all.ethtool.statistics = {};
  EXPECT_EQ(collector(all).tick().size(), 1U + 5);
  all.ethtool.statistics.include = "[";
  EXPECT_FALSE(make_ethtool_collector(tree_.root(), all, std::make_unique<FakeEthtool>(devices_)));
}

TEST_F(EthtoolCollectorTest, TheDriverChangesItsStatistics) {
  devices_["eth0"] = {{"rx_errors", 1}};
  Ticks ticks = collector();
  ticks.tick();
  devices_["eth0"] = {{"tx_errors", 2}, {"rx_errors", 4}};
  auto values = ticks.tick();
  EXPECT_EQ(values.at("ethtool.statistic eth0 received_errors_total"), 4);
  EXPECT_EQ(values.at("ethtool.statistic eth0 transmitted_errors_total"), 2);
  devices_.erase("eth0");
  EXPECT_TRUE(ticks.tick().empty()) << "the driver has nothing to say any more";
  devices_["eth0"] = {{"rx_errors", 5}};
  tree_.remove("sys/class/net/eth0");
  EXPECT_TRUE(ticks.tick().empty());
}

TEST_F(EthtoolCollectorTest, NamesThatBecomeOneAreKeptOnce) {
  devices_["eth0"] = {{"rx err", 1}, {"rx.err", 2}, {"...", 3}};
  EXPECT_THAT(collector().tick(), Contains(Pair("ethtool.statistic eth0 received_err", 1)));
}

TEST_F(EthtoolCollectorTest, OnlyInterfacesOfThePrefixes) {
  devices_["eth0"] = {{"rx_errors", 1}};
  devices_["dummy0"] = {{"rx_errors", 1}};
  CollectorOptions options;
  options.net.by_prefix = true;
  EXPECT_THAT(collector(options).tick(),
              Not(Contains(Key("ethtool.statistic dummy0 received_errors_total"))));
  options.net.prefixes = {"dum", "ib"};
  EXPECT_THAT(collector(options).tick(),
              Not(Contains(Key("ethtool.statistic eth0 received_errors_total"))));
}

TEST(EthtoolNames, AreThoseOfNodeExporter) {
  EXPECT_EQ(ethtool_metric_name("rx_prio0.pause"), "received_prio0_pause");
  EXPECT_EQ(ethtool_metric_name("  Port TX _-_ drops"), "port_transmitted_drops");
  EXPECT_EQ(ethtool_metric_name("[12]: tx_ucast"), "12_transmitted_ucast");
  EXPECT_EQ(ethtool_metric_name("prefix_rxless"), "prefix_rxless");
  EXPECT_EQ(ethtool_metric_name("tx_tx_timeouts"), "transmitted_tx_timeouts");
  EXPECT_EQ(ethtool_metric_name("tx_xdp_tx"), "transmitted_xdp_transmitted");
  EXPECT_EQ(ethtool_metric_name("%%"), "");
}

TEST(EthtoolNames, AreCutAtTheirEnd) {
  std::string bytes(64, '\0');
  bytes.replace(0, 4, "name");
  bytes.replace(32, 32, std::string(32, 'x'));
  EXPECT_THAT(ethtool_names(std::span(bytes.data(), bytes.size())),
              ElementsAre("name", std::string(32, 'x')));
  EXPECT_TRUE(ethtool_names(std::span(bytes.data(), 31)).empty());
}

// The kernel itself: loopback has a driver's name or nothing, and no device of that name an error.
TEST(Ethtool, AsksTheKernel) {
  const auto ethtool = make_ethtool();
  EXPECT_FALSE(ethtool->driver("no-such-device"));
  EXPECT_FALSE(ethtool->driver("a-name-that-is-longer-than-any"));
  std::vector<std::uint64_t> values(3);
  EXPECT_FALSE(ethtool->values("no-such-device", values));
}

}  // namespace
}  // namespace dynolog
