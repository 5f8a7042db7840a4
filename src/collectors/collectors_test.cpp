// The collectors, on recorded and on written /proc trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "collectors/all_collectors.h"
#include "collectors/collector_fixture.h"
#include "collectors/cpu.h"
#include "collectors/load.h"
#include "collectors/self.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

using testing::DoubleEq;

TEST(CpuCollector, ReadsARecordedHost) {
  Ticks ticks(make_cpu_collector(recorded_host(), 100));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.size(), 10U + 2 * 10 + 6 + 10) << "all, two CPUs, the host's, soft interrupts";
  EXPECT_THAT(values, testing::Contains(testing::Key("cpu.time 1 iowait")));
  EXPECT_THAT(values, testing::Contains(testing::Key("host.interrupts")));
  // The kernel's own sum over the CPUs, within its rounding.
  EXPECT_NEAR(values.at("cpu.time.all idle"),
              values.at("cpu.time 0 idle") + values.at("cpu.time 1 idle"), 0.05);
}

TEST(CpuCollector, GuestsAreNotCountedTwice) {
  const ProcTree tree;
  tree.write("stat", "cpu  1000 100 300 5000 20 3 2 4 400 50\n");
  Ticks ticks(make_cpu_collector(tree.root(), 100));
  const auto values = ticks.tick();
  EXPECT_THAT(values.at("cpu.time.all user"), DoubleEq(10)) << "as the kernel says: with guests";
  EXPECT_THAT(values.at("cpu.guest_time.all user"), DoubleEq(4));
  EXPECT_THAT(values.at("cpu.guest_time.all nice"), DoubleEq(0.5));
  double sum = 0;
  for (const auto& [key, value] : values) {
    if (key.starts_with("cpu.time.all ")) sum += value;
  }
  EXPECT_THAT(sum, DoubleEq(64.29));
}

TEST(CpuCollector, HotPlugClosesAndOpensSeries) {
  const ProcTree tree;
  const std::string both =
      "cpu  2 0 0 2 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\n";
  tree.write("stat", both);
  Ticks ticks(make_cpu_collector(tree.root(), 100));
  EXPECT_TRUE(ticks.tick().contains("cpu.time 0 idle"));
  tree.write("stat", "cpu  2 0 0 2 0 0 0 0 0 0\ncpu1 3 0 0 1 0 0 0 0 0 0\n");
  auto values = ticks.tick();
  EXPECT_FALSE(values.contains("cpu.time 0 idle"));
  EXPECT_THAT(values.at("cpu.time 1 user"), DoubleEq(0.03));
  tree.write("stat", both);
  values = ticks.tick();
  EXPECT_TRUE(values.contains("cpu.time 0 idle"));
  EXPECT_THAT(values.at("cpu.time 1 user"), DoubleEq(0.01));
}

TEST(CpuCollector, SumsUpTheCpusOfANode) {
  const ProcTree tree;
  const std::string times = " 100 0 0 50 0 0 0 0 0 0\n";
  tree.write("stat", "cpu " + times + "cpu0" + times + "cpu1" + times + "cpu2" + times);
  tree.put("sys/devices/system/node/node0/cpulist", "0-1\n");
  tree.put("sys/devices/system/node/node1/cpulist", "2-3\n");
  tree.put("sys/devices/system/node/node2/cpulist", "\n");  // memory only
  tree.put("sys/devices/system/node/online", "0-2\n");
  Ticks ticks(make_cpu_collector(tree.root(), 100));
  auto values = ticks.tick();
  EXPECT_EQ(values.at("cpu.time.node 0 user"), 2);
  EXPECT_EQ(values.at("cpu.time.node 1 idle"), 0.5);
  EXPECT_FALSE(values.contains("cpu.time.node 2 idle"));
  tree.write("stat", "cpu " + times + "cpu0" + times + "cpu2" + times);
  values = ticks.tick();
  EXPECT_EQ(values.at("cpu.time.node 0 user"), 1) << "a new series: no increase is taken of it";
}

TEST(CpuCollector, AMissingLineIsAbsentAndCounted) {
  const ProcTree tree;
  tree.write("stat", "cpu  1 2 3 4\nctxt 5\n");
  Ticks ticks(make_cpu_collector(tree.root(), 100));
  const auto values = ticks.tick();
  EXPECT_EQ(values.at("host.context_switches"), 5);
  EXPECT_FALSE(values.contains("host.forks"));
  EXPECT_FALSE(values.contains("cpu.time.all iowait")) << "a column that the kernel lacks";
  const auto& absences = ticks.writer().absences(0);
  EXPECT_EQ(absences[static_cast<std::size_t>(AbsentReason::not_reported)], 5U);
}

TEST(CpuCollector, GarbageMakesAllAbsent) {
  const ProcTree tree;
  tree.write("stat", "cpu  1 2 3 4\n");
  Ticks ticks(make_cpu_collector(tree.root(), 100));
  EXPECT_FALSE(ticks.tick().empty());
  tree.write("stat", "what?\n");
  EXPECT_TRUE(ticks.tick().empty());
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::invalid);
}

TEST(LoadCollector, ReadsALine) {
  const ProcTree tree;
  tree.write("loadavg", "0.25 1.50 12.00 2/980 11206\n");
  Ticks ticks(make_load_collector(tree.root()));
  const auto values = ticks.tick();
  EXPECT_EQ(values.at("load.1m"), 0.25);
  EXPECT_EQ(values.at("load.5m"), 1.5);
  EXPECT_EQ(values.at("load.15m"), 12);
  EXPECT_EQ(values.at("host.threads"), 980);
}

TEST(LoadCollector, AMissingFileIsNotAvailable) {
  const ProcTree tree;
  Ticks ticks(make_load_collector(tree.root()));
  ticks.tick();
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::not_found);
}

TEST(SelfCollector, SaysWhatTheDaemonUsesAndCounts) {
  std::uint64_t requests = 7;
  Ticks ticks(make_self_collector(
      SystemRoot{},
      [&](const CounterVisitor& visit) {
        visit("rpc_requests", requests);
        visit("kineto_polls", 3);
      },
      ::sysconf(_SC_PAGESIZE), ::sysconf(_SC_CLK_TCK)));
  auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_GT(values.at("self.cpu_time"), 0);
  EXPECT_GT(values.at("self.resident_memory"), 1 << 20);
  EXPECT_GE(values.at("self.threads"), 1);
  EXPECT_GE(values.at("self.open_descriptors"), 3);
  EXPECT_TRUE(values.contains("self.context_switches voluntary"));
  EXPECT_GE(values.at("self.descriptor_limit"), values.at("self.open_descriptors"));
  EXPECT_EQ(std::ranges::count_if(
                values, [](const auto& entry) { return entry.first.starts_with("self.build "); }),
            1);
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_GT(values.at("self.start_time"), now - 86'400);
  EXPECT_LT(values.at("self.start_time"), now + 2) << "the boot time is in whole seconds";
  EXPECT_EQ(values.at("self.count rpc_requests"), 7);
  requests = 9;
  values = ticks.tick();
  EXPECT_EQ(values.at("self.count rpc_requests"), 9);
  EXPECT_EQ(values.at("self.count kineto_polls"), 3);
}

TEST(SelfCollector, TakesTheFieldsOfARecordedStat) {
  Ticks ticks(make_self_collector(recorded_host(), {}, 4096, 100));
  const auto values = ticks.tick();
  EXPECT_FALSE(ticks.status()) << "the recorded host has no descriptors to count";
  EXPECT_EQ(values.at("self.threads"), 1);
  EXPECT_FALSE(values.contains("self.open_descriptors")) << "absent, not 0";
}

TEST(AllCollectors, TheTableSaysWhatTheCollectorsSay) {
  const auto collectors = make_collectors({}, {});
  ASSERT_TRUE(collectors);
  const Catalogue catalogue = metric_catalogue();
  ASSERT_EQ(collectors->size() + 1, catalogue.size()) << "and the framework's own";
  for (std::size_t i = 0; i < collectors->size(); ++i) {
    EXPECT_EQ((*collectors)[i]->name(), catalogue[i].name);
    EXPECT_EQ((*collectors)[i]->tier(), catalogue[i].tier);
  }
}

std::vector<std::string> recorded_hosts() {
  std::vector<std::string> names;
  for (const auto& host : std::filesystem::directory_iterator(DYNOLOG_HOSTS_DIR)) {
    names.push_back(host.path().filename().string());
  }
  return names;
}

TEST(AllCollectors, WhatACollectorEmitsIsInItsRow) {
  for (const std::string& host : recorded_hosts()) {
    auto collectors = make_collectors({recorded_host(host), {}}, {});
    ASSERT_TRUE(collectors);
    for (std::size_t i = 0; i < collectors->size(); ++i) {
      FrameWriter writer(1, 10'000);
      writer.begin_tick({}, {});
      writer.begin_source(0, {});
      [[maybe_unused]] const Status status = (*collectors)[i]->collect(writer);
      const auto table = writer.finish_tick().table();
      const auto row = metric_catalogue()[i].metrics;
      for (Slot slot = 0; slot < table->size(); ++slot) {
        const MetricDescriptor* descriptor = table->at(slot)->descriptor;
        EXPECT_TRUE(descriptor >= row.data() && descriptor < row.data() + row.size())
            << host << " " << descriptor->id;
      }
    }
  }
}

// What each recorded host has a source of, besides kNeedNoSource. In "restricted" processes of
// others are hidden: `processes`, whose numbers would be wrong, refuses.
const std::map<std::string, std::vector<std::string>> kReadAtHost = {
    {"cgroup-v1", {"cgroups"}},
    {"lustre-client", {"lustre", "lustre_targets"}},
    {"numa-192cpu",
     {"bonding",      "conntrack",        "cpu",           "cpufreq",   "cpuinfo", "edac",
      "hwmon",        "infiniband",       "infiniband_hw", "load",      "mdadm",   "meminfo",
      "meminfo_numa", "mountstats",       "netclass",      "netdev",    "nfs",     "nfsd",
      "nvme",         "powersupplyclass", "rapl",          "schedstat", "softnet", "thermal_zone",
      "top",          "udp_queues"}},
    {"restricted", {"cpu", "meminfo", "top"}},
    {"slurm-cgroup2", {"cgroups"}},
    {"vm-2cpu",
     {"arp", "cpu", "diskstats", "entropy", "filefd", "interrupts", "load", "meminfo", "netdev",
      "netstat", "pressure", "schedstat", "sockstat", "softnet", "top", "uname", "vmstat"}},
};
// There are no ranks and no text files here, and without a file of it there is no SELinux.
const std::vector<std::string> kNeedNoSource = {"jobs", "selinux", "textfile"};
const std::vector<std::string> kOfThisMachine = {"ethtool", "self", "tcpstat", "time", "timex"};

// What a source is not there for is said to be not available; no host makes a collector fail.
TEST(AllCollectors, EachRecordedHostIsReadAsFarAsItGoes) {
  for (const std::string& host : recorded_hosts()) {
    auto collectors = make_collectors({recorded_host(host), {}}, {});
    ASSERT_TRUE(collectors);
    std::vector<std::string> read;
    for (const auto& collector : *collectors) {
      if (std::ranges::find(kOfThisMachine, collector->name()) != kOfThisMachine.end()) continue;
      FrameWriter writer(1, 10'000);
      writer.begin_tick({}, {});
      writer.begin_source(0, {});
      const Status status = collector->collect(writer);
      EXPECT_EQ(writer.take_open_error(0), std::nullopt) << host << " " << collector->name();
      if (status) {
        read.emplace_back(collector->name());
        continue;
      }
      const ErrorKind kind = status.error().kind;
      EXPECT_TRUE(kind == ErrorKind::unavailable || kind == ErrorKind::not_found ||
                  kind == ErrorKind::denied)
          << host << " " << collector->name() << ": " << status.error().message;
    }
    ASSERT_TRUE(kReadAtHost.contains(host)) << host;
    auto expected = kReadAtHost.at(host);
    expected.insert(expected.end(), kNeedNoSource.begin(), kNeedNoSource.end());
    EXPECT_THAT(read, testing::UnorderedElementsAreArray(expected)) << host;
  }
}

TEST(CpuCollector, ReadsALargeHostByNode) {
  Ticks ticks(make_cpu_collector(recorded_host("numa-192cpu"), 100));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_TRUE(values.contains("cpu.time 191 idle"));
  EXPECT_FALSE(values.contains("cpu.time 97 idle")) << "offline";
  EXPECT_NEAR(values.at("cpu.time.node 0 user") + values.at("cpu.time.node 1 user"),
              values.at("cpu.time.all user"), 0.01);
}

TEST(AllCollectors, DisablesByNameAndSuggests) {
  const auto some = make_collectors({}, {"load"});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size() + 2, metric_catalogue().size());
  const auto unknown = make_collectors({}, {"laod"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::invalid);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("did you mean 'load'?"));
}

TEST(AllCollectors, RefusesOptionsThatCannotBe) {
  CollectorWorld world;
  world.options.intervals["lod"] = std::chrono::seconds(5);
  EXPECT_THAT(make_collectors(world, {}).error().message, testing::HasSubstr("'load'?"));
  world.options.intervals.clear();
  world.options.disk.devices.exclude = "(";
  const auto bad = make_collectors(world, {});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::invalid);
  EXPECT_THAT(bad.error().message, testing::HasSubstr("disk_exclude"));
}

TEST(AllCollectors, TheListHasEachMetric) {
  const std::string json = list_metrics(true);
  const std::string text = list_metrics(false);
  EXPECT_THAT(json, testing::StartsWith("{\n  \"schema\": 1,"));
  for (const CatalogueSection& section : metric_catalogue()) {
    for (const MetricDescriptor& metric : section.metrics) {
      EXPECT_THAT(json, testing::HasSubstr("\"id\": \"" + std::string(metric.id) + "\""));
      EXPECT_THAT(text, testing::HasSubstr("\n  " + std::string(metric.id) + " "));
    }
  }
}

TEST(AllCollectors, TheDocumentationIsFresh) {
  const std::string path = std::string(DYNOLOG_SOURCE_DIR) + "/docs/metrics.md";
  const char* refresh = std::getenv("DYNOLOG_REFRESH_GOLDENS");
  if (refresh != nullptr && *refresh != '\0') {
    ASSERT_TRUE(replace_file(path, metrics_page(), 0644));
    return;
  }
  const auto page = read_file(path, 1U << 20U);
  ASSERT_TRUE(page);
  EXPECT_TRUE(*page == metrics_page()) << "docs/metrics.md is stale: run ./scripts/refresh-goldens";
}

}  // namespace
}  // namespace dynolog
