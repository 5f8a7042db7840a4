// Parsers of the host's /proc files: fields, devices, CPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kernel/diskstats.h"
#include "kernel/key_values.h"
#include "kernel/meminfo.h"
#include "kernel/net_dev.h"
#include "kernel/net_snmp.h"
#include "kernel/per_cpu_files.h"
#include "kernel/pressure.h"
#include "kernel/scan.h"
#include "kernel/udev_data.h"

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::Pair;
using Values = std::map<std::string, std::optional<double>>;

TEST(Scan, TakesWordsAndNumbers) {
  std::string_view rest = "  12\tword -5 0x 18446744073709551615 18446744073709551616";
  EXPECT_EQ(take_count(rest), 12U);
  EXPECT_EQ(take_count(rest), std::nullopt) << "a word that is none is taken too";
  EXPECT_EQ(take_value(rest), -5);
  EXPECT_EQ(take_count(rest), std::nullopt);
  EXPECT_EQ(take_count(rest), 18446744073709551615U);
  EXPECT_EQ(take_value(rest), std::nullopt) << "beyond 64 bits";
  EXPECT_EQ(take_word(rest), "");
  EXPECT_EQ(single_value("256\n"), 256);
  EXPECT_EQ(single_value(""), std::nullopt);
}

Values meminfo(std::string_view text) {
  Values values;
  for_each_meminfo_field(text, [&](const MeminfoField& field) {
    values[meminfo_field_name(field.name) + (field.is_bytes ? " bytes" : "")] = field.value;
  });
  return values;
}

TEST(Meminfo, ReadsAmountsAndNumbers) {
  EXPECT_THAT(
      meminfo("MemTotal:       24684096 kB\n"
              "Active(anon):       2728 kB\n"
              "HugePages_Total:       3\n"
              "Odd:  x kB\n"
              "no field\n"),
      ElementsAre(Pair("Active_anon bytes", 2728.0 * 1024), Pair("HugePages_Total", 3),
                  Pair("MemTotal bytes", 24684096.0 * 1024), Pair("Odd bytes", std::nullopt)));
}

TEST(Meminfo, ReadsANodes) {
  EXPECT_THAT(meminfo("Node 1 MemTotal:       131072 kB\nNode 1 HugePages_Free:      0\n"),
              ElementsAre(Pair("HugePages_Free", 0), Pair("MemTotal bytes", 131072.0 * 1024)));
}

TEST(KeyValues, ReadsLines) {
  Values values;
  for_each_key_value("nr_free_pages 2068012\npgfault 18446744073709551615\nodd\n\n",
                     [&](std::string_view name, std::optional<double> value) {
                       values[std::string(name)] = value;
                     });
  EXPECT_THAT(values, ElementsAre(Pair("nr_free_pages", 2068012), Pair("odd", std::nullopt),
                                  Pair("pgfault", 18446744073709551615.0)));
}

template <class Walk>
Values fields(Walk walk) {
  Values values;
  walk([&](std::string_view protocol, std::string_view name, std::optional<double> value) {
    values[std::string(protocol) + "_" + std::string(name)] = value;
  });
  return values;
}

TEST(NetSnmp, ReadsPairsOfLines) {
  const auto values = fields([](auto visit) {
    for_each_snmp_field(
        "Tcp: RtoMin MaxConn CurrEstab\nTcp: 200 -1 7\n"
        "Odd: A B\nEven: 1 2\n"
        "Udp: InErrors Newer\nUdp: 5\n",
        visit);
  });
  EXPECT_THAT(values, ElementsAre(Pair("Tcp_CurrEstab", 7), Pair("Tcp_MaxConn", -1),
                                  Pair("Tcp_RtoMin", 200), Pair("Udp_InErrors", 5),
                                  Pair("Udp_Newer", std::nullopt)));
}

TEST(NetSnmp, SplitsNamesOfSnmp6) {
  const auto values = fields([](auto visit) {
    for_each_snmp6_field("Ip6InOctets   \t100\nUdpLite6InErrors  2\nIp6\nNoSix 4\n", visit);
  });
  EXPECT_THAT(values, ElementsAre(Pair("Ip6_InOctets", 100), Pair("UdpLite6_InErrors", 2)));
}

TEST(NetSnmp, ReadsSockstat) {
  const auto values = fields([](auto visit) {
    for_each_sockstat_field("sockets: used 17\nTCP: inuse 1 mem 221\nRAW:\nTCP6: inuse\n", visit);
  });
  EXPECT_THAT(values, ElementsAre(Pair("TCP6_inuse", std::nullopt), Pair("TCP_inuse", 1),
                                  Pair("TCP_mem", 221), Pair("sockets_used", 17)));
}

TEST(Pressure, ReadsTotals) {
  const auto both = parse_pressure(
      "some avg10=97.67 avg60=96.65 avg300=67.92 total=9573856712\n"
      "full avg10=0.00 avg60=0.00 avg300=0.38 total=28379051\n");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->some_us, 9573856712U);
  EXPECT_EQ(both->full_us, 28379051U);
  const auto full = parse_pressure("full avg10=0.00 total=5\n");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->some_us, std::nullopt);
  for (const char* text : {"", "some avg10=0.00\n", "some total=x\n", "most total=4\n"}) {
    EXPECT_FALSE(parse_pressure(text)) << text;
  }
}

TEST(Diskstats, ReadsTheColumnsThatAKernelPrints) {
  std::vector<std::string> seen;
  for_each_disk(
      "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
      " 259       1 nvme0n1p1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"
      " 104       0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
      "   8       1 sda1 1 2 3 4\n"
      "junk\n",
      [&](const DiskLine& disk) {
        seen.push_back(std::string(disk.name) + " " + std::to_string(disk.major) + ":" +
                       std::to_string(disk.minor) + " " + std::to_string(disk.count));
        EXPECT_EQ(disk.values[static_cast<std::size_t>(DiskField::weighted_io_ms)], 11U);
      });
  EXPECT_THAT(seen, ElementsAre("sda 8:0 11", "nvme0n1p1 259:1 17", "cciss/c0d0 104:0 15"));
}

TEST(NetDev, ReadsDevices) {
  std::vector<std::string> seen;
  for_each_net_dev(
      "Inter-|   Receive                |  Transmit\n"
      " face |bytes    packets errs|bytes    packets\n"
      "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
      "eth0:1:62017323 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615\n"
      "short: 1 2 3\n",
      [&](const NetDevLine& device) {
        seen.emplace_back(device.name);
        EXPECT_EQ(device.values[8], 9U);
      });
  EXPECT_THAT(seen, ElementsAre("lo", "eth0:1"));
}

TEST(Softnet, TakesTheCpuFromTheLine) {
  std::vector<std::uint64_t> cpus;
  for_each_softnet(
      "0002e863 00000001 0000000a 0 0 0 0 0 0 00000003 00000004 00000005 00000007\n"
      "00000001 00000002 00000003\n"
      "what\n",
      [&](const SoftnetLine& line) {
        cpus.push_back(line.cpu);
        if (line.cpu != 7) return;
        EXPECT_EQ(line.processed, 0x2e863U);
        EXPECT_EQ(line.dropped, 1U);
        EXPECT_EQ(line.squeezed, 10U);
        EXPECT_EQ(line.received_rps, 3U);
        EXPECT_EQ(line.flow_limit, 4U);
        EXPECT_EQ(line.backlog, 5U);
      });
  EXPECT_THAT(cpus, ElementsAre(7, 1));
}

TEST(Schedstat, ReadsCpusAndNoDomains) {
  std::vector<std::uint64_t> cpus;
  for_each_schedstat_cpu(
      "version 15\ntimestamp 4294892000\n"
      "cpu3 0 0 0 0 0 0 2045936778163 343796328169 4767485\n"
      "domain0 00000003 1 2 3 4 5 6 7 8 9 10\n"
      "cpuX 0 0 0 0 0 0 1 2 3\ncpu1 1 2\n",
      [&](const SchedstatLine& line) {
        cpus.push_back(line.cpu);
        EXPECT_EQ(line.running_ns, 2045936778163U);
        EXPECT_EQ(line.waiting_ns, 343796328169U);
        EXPECT_EQ(line.timeslices, 4767485U);
      });
  EXPECT_THAT(cpus, ElementsAre(3));
}

TEST(HexTable, NamesItsColumns) {
  std::map<std::string, std::uint64_t> sums;
  for_each_hex_column(
      "entries  found drop\n0000000a  00000001 0\n0000000a  00000002\n",
      [&](std::string_view name, std::uint64_t value) { sums[std::string(name)] += value; });
  EXPECT_THAT(sums, ElementsAre(Pair("drop", 0), Pair("entries", 20), Pair("found", 3)));
}

TEST(UdevData, FindsAProperty) {
  constexpr std::string_view kText = "S:disk/by-id/x\nE:ID_MODEL_ENC=no\nE:ID_MODEL=A B\nE:ID_\n";
  EXPECT_EQ(udev_property(kText, "ID_MODEL"), "A B");
  EXPECT_EQ(udev_property(kText, "ID_WWN"), "");
}

}  // namespace
}  // namespace dynolog
