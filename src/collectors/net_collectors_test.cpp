// Collectors of the network, on recorded and on written trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "collectors/arp.h"
#include "collectors/collector_fixture.h"
#include "collectors/conntrack.h"
#include "collectors/netclass.h"
#include "collectors/netdev.h"
#include "collectors/netstat.h"
#include "collectors/sockstat.h"
#include "collectors/softnet.h"
#include "collectors/tcpstat.h"

namespace dynolog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

std::string line_of(const std::string& device, int first) {
  std::string line = device + ":";
  for (int i = 0; i < 16; ++i) line += " " + std::to_string(first + i);
  return line + "\n";
}

TEST(NetdevCollector, ReadsARecordedHost) {
  Ticks ticks(must(make_netdev_collector(recorded_host(), {})));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_GT(values.at("net.received_bytes eth0"), 1e6);
  EXPECT_THAT(values, Not(Contains(Key("net.received_bytes lo")))) << "by default left out";
}

TEST(NetdevCollector, NumbersAreThoseOfTheColumns) {
  const ProcTree tree;
  tree.write("net/dev", "heading\n" + line_of("eth0", 1));
  Ticks ticks(must(make_netdev_collector(tree.root(), {})));
  const auto values = ticks.tick();
  EXPECT_EQ(values.size(), 16U);
  EXPECT_EQ(values.at("net.receive_drops eth0"), 4);
  EXPECT_EQ(values.at("net.sent_bytes eth0"), 9);
  EXPECT_EQ(values.at("net.carrier_losses eth0"), 15);
}

TEST(NetdevCollector, ADeviceIsRenamedAndAnotherTakesItsPlace) {
  const ProcTree tree;
  tree.write("net/dev", line_of("eth0", 1) + line_of("eth1", 100));
  Ticks ticks(must(make_netdev_collector(tree.root(), {})));
  ticks.tick();
  tree.write("net/dev", line_of("ib0", 1) + line_of("eth0", 100));
  const auto values = ticks.tick();
  EXPECT_EQ(values.at("net.received_bytes ib0"), 1);
  EXPECT_EQ(values.at("net.received_bytes eth0"), 100);
  EXPECT_THAT(values, Not(Contains(Key("net.received_bytes eth1"))));
}

TEST(NetdevCollector, TakesAThousandDevices) {
  const ProcTree tree;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += line_of("veth" + std::to_string(i), i);
  tree.write("net/dev", text);
  Ticks ticks(must(make_netdev_collector(tree.root(), {})));
  EXPECT_EQ(ticks.tick().size(), 16'000U);
  tree.write("net/dev", text.substr(text.find('\n') + 1));
  EXPECT_EQ(ticks.tick().size(), 16'000U - 16);
}

class NetclassCollectorTest : public testing::Test {
 protected:
  void add(const std::string& device, std::string_view state, std::string_view speed) {
    const std::string at = "sys/class/net/" + device + "/";
    tree_.put(at + "ifindex", "2\n");
    tree_.put(at + "operstate", state);
    tree_.put(at + "speed", speed);
    tree_.put(at + "flags", "0x1003\n");
    tree_.put(at + "address", "02:00:00:00:00:01\n");
    tree_.put(at + "statistics/rx_nohandler", "7\n");
  }
  ProcTree tree_;
};

TEST_F(NetclassCollectorTest, ReadsWhatADeviceIs) {
  add("eth0", "up\n", "200000\n");
  add("lo", "unknown\n", "");
  tree_.put("sys/class/net/bonding_masters", "bond0\n");
  Ticks ticks(must(make_netclass_collector(tree_.root(), {})));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.at("net.up eth0"), 1);
  EXPECT_EQ(values.at("net.up lo"), 0);
  EXPECT_EQ(values.at("net.speed eth0"), 25e9);
  EXPECT_EQ(values.at("net.flags eth0"), 0x1003);
  EXPECT_EQ(values.at("net.receive_no_handler eth0"), 7);
  EXPECT_EQ(values.at("net.info eth0 02:00:00:00:00:01   up "), 1);
  EXPECT_THAT(values, Not(Contains(Key("net.receive_no_handler lo")))) << "traffic is not wanted";
  for (const auto& [key, value] : values) EXPECT_THAT(key, Not(testing::HasSubstr("bonding")));
}

TEST_F(NetclassCollectorTest, ASpeedThatIsNotKnownIsAbsent) {
  for (const char* speed : {"-1\n", "4294967295\n", "", "fast\n"}) {
    add("eth0", "down\n", speed);
    Ticks ticks(must(make_netclass_collector(tree_.root(), {})));
    EXPECT_THAT(ticks.tick(), Not(Contains(Key("net.speed eth0")))) << speed;
  }
}

TEST_F(NetclassCollectorTest, ALinkThatGoesDownIsAnotherInfo) {
  add("eth0", "up\n", "1000\n");
  Ticks ticks(must(make_netclass_collector(tree_.root(), {})));
  ticks.tick();
  add("eth0", "down\n", "-1\n");
  auto values = ticks.tick();
  EXPECT_THAT(values, Contains(Key("net.info eth0 02:00:00:00:00:01   down ")));
  EXPECT_THAT(values, Not(Contains(Key("net.info eth0 02:00:00:00:00:01   up "))));
  EXPECT_THAT(values, Not(Contains(Key("net.speed eth0"))));
  tree_.remove("sys/class/net/eth0");
  EXPECT_TRUE(ticks.tick().empty());
}

// What cannot change without a sign of it is not read each time.
TEST_F(NetclassCollectorTest, ReadsAllOfALinkThatChangedAndNowAndThen) {
  add("eth0", "up\n", "1000\n");
  const std::string at = "sys/class/net/eth0/";
  tree_.put(at + "mtu", "1500\n");
  tree_.put(at + "carrier_changes", "1\n");
  Ticks ticks(must(make_netclass_collector(tree_.root(), {})));
  EXPECT_EQ(ticks.tick().at("net.mtu eth0"), 1500);
  tree_.put(at + "mtu", "9000\n");
  EXPECT_EQ(ticks.tick().at("net.mtu eth0"), 1500) << "not looked at, and still there";
  for (const auto& [file, text] : std::map<std::string, std::string>{{"carrier_changes", "2\n"},
                                                                     {"carrier", "1\n"},
                                                                     {"flags", "0x1043\n"},
                                                                     {"ifindex", "3\n"},
                                                                     {"operstate", "dormant\n"}}) {
    tree_.put(at + "mtu", "1500\n");
    tree_.put(at + file, text);
    EXPECT_EQ(ticks.tick().at("net.mtu eth0"), 1500) << file;
    tree_.put(at + "mtu", "9000\n");
    EXPECT_EQ(ticks.tick().at("net.mtu eth0"), 1500) << "before the next change";
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ticks.tick().at("net.mtu eth0"), 1500);
  EXPECT_EQ(ticks.tick().at("net.mtu eth0"), 9000) << "the sixth look since";
}

TEST(NetclassCollector, AHostWithoutIsNotAvailable) {
  const ProcTree tree;
  Ticks ticks(must(make_netclass_collector(tree.root(), {})));
  ticks.tick();
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::not_found);
}

TEST(NetstatCollector, TakesTheFieldsOfTheOption) {
  Ticks ticks(must(make_netstat_collector(recorded_host(), {})));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_THAT(values, Contains(Key("netstat.event Tcp RetransSegs")));
  EXPECT_THAT(values, Contains(Key("netstat.event TcpExt ListenDrops")));
  EXPECT_THAT(values, Contains(Key("netstat.event Udp6 InErrors")));
  EXPECT_THAT(values, Contains(Key("netstat.tcp_established")));
  EXPECT_THAT(values, Contains(Key("netstat.ip_forwarding")));
  EXPECT_THAT(values, Not(Contains(Key("netstat.event TcpExt DelayedACKs"))));
  Ticks all(must(make_netstat_collector(recorded_host(), {.fields = ".*"})));
  const auto every = all.tick();
  EXPECT_GT(every.size(), 250U);
  EXPECT_THAT(every, Not(Contains(Key("netstat.event Tcp MaxConn")))) << "a constant";
  EXPECT_FALSE(make_netstat_collector({}, {.fields = "["}));
}

TEST(NetstatCollector, WorksWithoutIpv6) {
  const ProcTree tree;
  tree.write("net/netstat", "TcpExt: ListenDrops\nTcpExt: 4\n");
  tree.write("net/snmp", "Tcp: CurrEstab InErrs\nTcp: 3 2\n");
  Ticks ticks(must(make_netstat_collector(tree.root(), {})));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("netstat.event Tcp InErrs", 2),
                                        Pair("netstat.event TcpExt ListenDrops", 4),
                                        Pair("netstat.tcp_established", 3)));
}

TEST(SockstatCollector, SaysPagesInBytesToo) {
  const ProcTree tree;
  tree.write("net/sockstat", "sockets: used 17\nTCP: inuse 1 mem 3\n");
  Ticks ticks(make_sockstat_collector(tree.root(), 4096));
  EXPECT_THAT(
      ticks.tick(),
      ElementsAre(Pair("sockets.field TCP inuse", 1), Pair("sockets.field TCP mem", 3),
                  Pair("sockets.field sockets used", 17), Pair("sockets.memory TCP", 3 * 4096)));
}

TEST(SoftnetCollector, CpusGoOffline) {
  const ProcTree tree;
  const std::string tail = " 0 0 0 0 0 0 00000001 00000002 00000003 ";
  tree.write("net/softnet_stat",
             "0000000a 00000001 00000002" + tail + "00000000\n0000000b 0 0" + tail + "00000001\n");
  Ticks ticks(make_softnet_collector(tree.root()));
  auto values = ticks.tick();
  EXPECT_EQ(values.at("softnet.processed 0"), 10);
  EXPECT_EQ(values.at("softnet.dropped 0"), 1);
  EXPECT_EQ(values.at("softnet.squeezed 0"), 2);
  EXPECT_EQ(values.at("softnet.backlog 1"), 3);
  tree.write("net/softnet_stat", "0000000c 0 0" + tail + "00000001\n");
  values = ticks.tick();
  EXPECT_THAT(values, Not(Contains(Key("softnet.processed 0"))));
  EXPECT_EQ(values.at("softnet.processed 1"), 12);
}

TEST(ConntrackCollector, SumsOverTheCpus) {
  const ProcTree tree;
  tree.write("sys/net/netfilter/nf_conntrack_count", "12\n");
  tree.write("sys/net/netfilter/nf_conntrack_max", "262144\n");
  tree.write("net/stat/nf_conntrack",
             "entries  found drop delete\n0000000a  00000010 00000001 1\n0000000a  00000001 0 1\n");
  Ticks ticks(make_conntrack_collector(tree.root()));
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("conntrack.entries", 12), Pair("conntrack.events drop", 1),
                          Pair("conntrack.events found", 17), Pair("conntrack.limit", 262144)));
}

TEST(ConntrackCollector, AHostWithoutIsNotAvailable) {
  const ProcTree tree;
  Ticks ticks(make_conntrack_collector(tree.root()));
  ticks.tick();
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::not_found);
}

TEST(ArpCollector, CountsByDevice) {
  const ProcTree tree;
  const std::string heading = "IP address  HW type  Flags  HW address  Mask  Device\n";
  const std::string on_eth0 = "192.0.2.1  0x1  0x2  02:fc:00:00:00:05  *  eth0\n";
  tree.write("net/arp", heading + on_eth0 + "192.0.2.9 0x1 0x0 00:00:00:00:00:00 * ib0\n" +
                            on_eth0 + "cut 0x1\n");
  Ticks ticks(make_arp_collector(tree.root()));
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("net.arp_entries eth0", 2), Pair("net.arp_entries ib0", 1)));
  tree.write("net/arp", heading + on_eth0);
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("net.arp_entries eth0", 1)));
}

TEST(TcpstatCollector, EachStateHasASeries) {
  TcpConnections connections;
  connections.by_state[1] = 5;
  connections.send_queue_bytes = 4224;
  Ticks ticks(make_tcpstat_collector([&](TcpConnections& into) -> Status {
    into = connections;
    return {};
  }));
  const auto values = ticks.tick();
  EXPECT_EQ(values.size(), 12U + 2);
  EXPECT_EQ(values.at("tcp.connections established"), 5);
  EXPECT_EQ(values.at("tcp.connections time_wait"), 0);
  EXPECT_EQ(values.at("tcp.connections tx_queued_bytes"), 4224);
}

}  // namespace
}  // namespace dynolog
