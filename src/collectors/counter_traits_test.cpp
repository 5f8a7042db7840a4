// How the kernel's counters go down without a reset: which of them say so in their descriptors, and
// that the increase over such a step is the true one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "collectors/all_collectors.h"
#include "collectors/collector_fixture.h"
#include "collectors/cpu.h"
#include "collectors/diskstats.h"
#include "collectors/interrupts.h"
#include "collectors/nfs.h"
#include "collectors/softnet.h"

namespace dynolog {
namespace {

using testing::DoubleNear;

constexpr double kRange = 4294967296;  // of 32 bits

std::string said(const CounterTraits& traits) {
  std::string text;
  if (traits.bits != 0) text += fmt::format("{} bits ", traits.bits);
  if (traits.scale != 1) text += fmt::format("of {} ", traits.scale);
  if (traits.backward_slack != 0) text += fmt::format("slack {} ", traits.backward_slack);
  return text;
}

// What the kernel's sources say of the numbers that it prints: `unsigned int`, milliseconds, and
// times that go back a little. Every other counter has 64 bits.
TEST(CounterTraits, AreTheKernels) {
  const std::string bits = "32 bits ";
  const std::string milliseconds = "32 bits of 0.001 ";
  const std::string cpu_time = "slack 3 ";
  std::map<std::string, std::string> expected = {{"cpu.time", cpu_time},
                                                 {"cpu.guest_time", cpu_time},
                                                 {"cpu.time.all", cpu_time},
                                                 {"cpu.guest_time.all", cpu_time},
                                                 {"cpu.time.node", cpu_time},
                                                 {"host.softirqs", bits},
                                                 {"interrupts.kind", bits},
                                                 {"interrupts.per_cpu", bits},
                                                 {"softnet.processed", bits},
                                                 {"softnet.dropped", bits},
                                                 {"softnet.squeezed", bits},
                                                 {"softnet.received_rps", bits},
                                                 {"softnet.flow_limit", bits},
                                                 {"disk.read_time", milliseconds},
                                                 {"disk.write_time", milliseconds},
                                                 {"disk.io_time", milliseconds},
                                                 {"disk.weighted_io_time", milliseconds},
                                                 {"disk.discard_time", milliseconds},
                                                 {"disk.flush_time", milliseconds}};
  std::map<std::string, std::string> found;
  for (const CatalogueSection& section : metric_catalogue()) {
    for (const MetricDescriptor& metric : section.metrics) {
      const bool is_counter = metric.kind == MetricKind::counter;
      const bool is_of_nfs = section.name == "nfs" || section.name == "nfsd";
      if (is_counter && is_of_nfs) expected[std::string(metric.id)] = bits;
      if (!said(metric.counter).empty()) found[std::string(metric.id)] = said(metric.counter);
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(CounterTraits, IdleTimeThatGoesBackIsNoIncreaseAndNoReset) {
  const ProcTree tree;
  Ticks ticks(make_cpu_collector(tree.root(), 100));
  const auto tick = [&](const std::string& idle) {
    tree.write("stat",
               "cpu 100 0 0 " + idle + " 0 0 0 0 0 0\ncpu0 100 0 0 " + idle + " 0 0 0 0 0 0\n");
    ticks.tick();
  };
  tick("200");
  tick("198");
  for (const char* series : {"cpu.time.all idle", "cpu.time 0 idle"}) {
    ASSERT_TRUE(ticks.increases().contains(series)) << series;
    EXPECT_EQ(ticks.increases().at(series), 0) << series;
  }
  tick("204");
  EXPECT_THAT(ticks.increases().at("cpu.time 0 idle"), DoubleNear(0.04, 1e-9)) << "since 2.00 s";
}

TEST(CounterTraits, SoftInterruptsWrap) {
  const ProcTree tree;
  Ticks ticks(make_cpu_collector(tree.root(), 100));
  tree.write("stat", "cpu 1 2 3 4\nsoftirq 9000000000 0 0 0 4294967290 0 0 0 0 0 5\n");
  ticks.tick();
  tree.write("stat", "cpu 1 2 3 4\nsoftirq 9000000016 0 0 0 10 0 0 0 0 0 5\n");
  ticks.tick();
  EXPECT_EQ(ticks.increases().at("host.softirqs net_rx"), 16);
  EXPECT_EQ(ticks.increases().at("host.softirqs rcu"), 0);
}

// Also of the sum over the CPUs, of which only one wraps, and which is more than 32 bits hold.
TEST(CounterTraits, InterruptsWrap) {
  const ProcTree tree;
  Ticks ticks(make_interrupts_collector(tree.root(), {.per_cpu = true}));
  tree.write("interrupts",
             "     CPU0 CPU1\n24: 4294967290 4000000000 IO-APIC 5-edge disk\n"
             "LOC: 3000000000 3000000000 Local timer interrupts\n");
  ticks.tick();
  tree.write("interrupts",
             "     CPU0 CPU1\n24: 10 4000000001 IO-APIC 5-edge disk\n"
             "LOC: 3000000100 3000000200 Local timer interrupts\n");
  const auto values = ticks.tick();
  EXPECT_EQ(ticks.increases().at("interrupts.kind device"), 17);
  EXPECT_EQ(ticks.increases().at("interrupts.kind LOC"), 300);
  EXPECT_LT(values.at("interrupts.kind LOC"), kRange);
  const auto of_cpu = [&](const std::string& begin) {
    const auto found = std::ranges::find_if(ticks.increases(), [&](const auto& entry) {
      return entry.first.starts_with("interrupts.per_cpu " + begin);
    });
    return found == ticks.increases().end() ? -1 : found->second;
  };
  EXPECT_EQ(of_cpu("0 24 "), 16);
  EXPECT_EQ(of_cpu("1 24 "), 1);
}

TEST(CounterTraits, TimesOfDisksWrap) {
  const ProcTree tree;
  auto made = make_diskstats_collector(tree.root(), {});
  Ticks ticks(must(std::move(made)));
  tree.write("diskstats", "8 0 sda 1 2 3 4294967290 5 6 7 4294967000 9 4294967295 4294967200\n");
  ticks.tick();
  tree.write("diskstats", "8 0 sda 2 2 3 10 5 6 7 704 9 4 904\n");
  ticks.tick();
  EXPECT_THAT(ticks.increases().at("disk.read_time sda"), DoubleNear(0.016, 1e-6));
  EXPECT_THAT(ticks.increases().at("disk.write_time sda"), DoubleNear(1, 1e-6));
  EXPECT_THAT(ticks.increases().at("disk.io_time sda"), DoubleNear(0.005, 1e-6));
  EXPECT_THAT(ticks.increases().at("disk.weighted_io_time sda"), DoubleNear(1, 1e-6));
}

TEST(CounterTraits, PacketsOfACpuAndRequestsOfNfsWrap) {
  const ProcTree tree;
  Ticks softnet(make_softnet_collector(tree.root()));
  tree.write("net/softnet_stat", "fffffffa 00000000 00000000 0 0 0 0 0 0 0 0 0 00000000\n");
  softnet.tick();
  tree.write("net/softnet_stat", "0000000a 00000000 00000000 0 0 0 0 0 0 0 0 0 00000000\n");
  softnet.tick();
  EXPECT_EQ(softnet.increases().at("softnet.processed 0"), 16);
  Ticks nfs(make_nfs_collector(tree.root()));
  tree.write("net/rpc/nfs", "rpc 4294967295 0 0\n");
  nfs.tick();
  tree.write("net/rpc/nfs", "rpc 7 0 0\n");
  nfs.tick();
  EXPECT_EQ(nfs.increases().at("nfs.rpcs"), 8);
}

}  // namespace
}  // namespace dynolog
