// The collectors, on recorded and on written /proc trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/file.h"
#include "collectors/all_collectors.h"
#include "collectors/cpu.h"
#include "collectors/load.h"
#include "collectors/self.h"
#include "metrics/frame_writer.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using testing::DoubleEq;

// A /proc of the test's own.
class ProcTree {
 public:
  ProcTree() {
    std::string pattern = (fs::temp_directory_path() / "dynolog-proc-XXXXXX").string();
    root_.proc = ::mkdtemp(pattern.data());
  }
  ProcTree(const ProcTree&) = delete;
  ProcTree& operator=(const ProcTree&) = delete;
  ~ProcTree() { fs::remove_all(root_.proc); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(root_.proc + "/" + name, std::ios::trunc) << text;
  }
  [[nodiscard]] const SystemRoot& root() const { return root_; }

 private:
  SystemRoot root_;
};

SystemRoot recorded_host() {
  SystemRoot root;
  root.proc = std::string(DYNOLOG_SOURCE_DIR) + "/tests/fixtures/vm-2cpu/proc";
  return root;
}

// What one collector says, tick by tick: "id label,label" to value.
class Ticks {
 public:
  explicit Ticks(std::unique_ptr<Collector> collector) : collector_(std::move(collector)) {}

  std::map<std::string, double> tick() {
    ++second_;
    writer_.begin_tick(WallTime(std::chrono::seconds(second_)),
                       MonotonicTime(std::chrono::seconds(second_)));
    writer_.begin_source(0, MonotonicTime(std::chrono::seconds(second_)));
    status_ = collector_->collect(writer_);
    writer_.end_source(status_);
    const Frame& frame = writer_.finish_tick();
    std::map<std::string, double> values;
    for (Slot slot = 0; slot < frame.table()->size(); ++slot) {
      const Series* series = frame.table()->at(slot);
      if (series == nullptr || !frame.value(slot)) continue;
      std::string key(series->descriptor->id);
      for (const auto& value : series->label_values) key += " " + value;
      values[key] = *frame.value(slot);
    }
    return values;
  }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const FrameWriter& writer() const { return writer_; }

 private:
  std::unique_ptr<Collector> collector_;
  FrameWriter writer_{1, 100'000};
  int second_ = 0;
  Status status_;
};

TEST(CpuCollector, ReadsARecordedHost) {
  Ticks ticks(make_cpu_collector(recorded_host(), 100));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.size(), 10U + 2 * 10 + 6) << "all, two CPUs, and the host's";
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
      ::sysconf(_SC_PAGESIZE)));
  auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_GT(values.at("self.cpu_time"), 0);
  EXPECT_GT(values.at("self.resident_memory"), 1 << 20);
  EXPECT_GE(values.at("self.threads"), 1);
  EXPECT_GE(values.at("self.open_descriptors"), 3);
  EXPECT_TRUE(values.contains("self.context_switches voluntary"));
  EXPECT_EQ(values.at("self.count rpc_requests"), 7);
  requests = 9;
  values = ticks.tick();
  EXPECT_EQ(values.at("self.count rpc_requests"), 9);
  EXPECT_EQ(values.at("self.count kineto_polls"), 3);
}

TEST(SelfCollector, TakesTheFieldsOfARecordedStat) {
  Ticks ticks(make_self_collector(recorded_host(), {}, 4096));
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

TEST(AllCollectors, WhatACollectorEmitsIsInItsRow) {
  auto collectors = make_collectors({recorded_host(), {}}, {});
  ASSERT_TRUE(collectors);
  for (std::size_t i = 0; i < collectors->size(); ++i) {
    FrameWriter writer(1, 1000);
    writer.begin_tick({}, {});
    writer.begin_source(0, {});
    [[maybe_unused]] const Status status = (*collectors)[i]->collect(writer);
    const auto table = writer.finish_tick().table();
    const auto row = metric_catalogue()[i].metrics;
    for (Slot slot = 0; slot < table->size(); ++slot) {
      const MetricDescriptor* descriptor = table->at(slot)->descriptor;
      EXPECT_TRUE(descriptor >= row.data() && descriptor < row.data() + row.size())
          << descriptor->id;
    }
  }
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

TEST(AllCollectors, TheListIsJsonWithASchema) {
  EXPECT_THAT(list_metrics(true), testing::HasSubstr("\"schema\": 1"));
  EXPECT_THAT(list_metrics(false), testing::HasSubstr("cpu.time"));
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
