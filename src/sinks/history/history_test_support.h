// For the history's tests: a host whose figures are known, second by second, and a keeper that is
// fed with them as the history's thread does it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "metrics/catalogue.h"
#include "metrics/frame_writer.h"
#include "sinks/history/file_system.h"
#include "sinks/history/keeper.h"
#include "testing/capturing_log.h"

namespace dynolog::history {

inline constexpr std::array kTestMetrics = {
    MetricDescriptor{.id = "cpu.time.all",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time",
                     .source = "t",
                     .labels = {LabelKey{"mode", "cpu.mode"}},
                     .counter = {.backward_slack = 3},
                     .otlp = {.name = "system.cpu.time"}},
    MetricDescriptor{.id = "net.bytes",
                     .kind = MetricKind::counter,
                     .unit = Unit::bytes,
                     .help = "Bytes received",
                     .source = "t",
                     .labels = {LabelKey{"device", "network.interface.name"}},
                     .prometheus = {.name = "node_network_receive_bytes_total"},
                     .otlp = {.name = "system.network.io",
                              .fixed_key = "network.io.direction",
                              .fixed_value = "receive"}},
    MetricDescriptor{.id = "memory.field",
                     .unit = Unit::bytes,
                     .help = "Memory",
                     .source = "t",
                     .labels = {LabelKey{"field", ""}},
                     .prometheus = {.name = "node_memory_{field}_bytes"}},
    MetricDescriptor{.id = "memory.limit", .unit = Unit::bytes, .help = "All", .source = "t"},
    MetricDescriptor{.id = "memory.available", .unit = Unit::bytes, .help = "Free", .source = "t"},
    MetricDescriptor{
        .id = "slow.count", .kind = MetricKind::counter, .help = "Read every 10 s", .source = "t"},
    MetricDescriptor{.id = "host.boot_time", .help = "Boot", .source = "t", .newest_only = true},
    MetricDescriptor{.id = "slow.level", .help = "Read every 10 s", .source = "t"},
};
inline constexpr std::array kTestSections = {
    CatalogueSection{"test", Tier::fast, kTestMetrics},
};
inline constexpr std::int64_t kTestStart = 1'800'000'000;  // seconds; a whole hour

// Without the directory's path, in which report_skips.py would look for what a test lacks.
inline constexpr const char* kNoPlaceForAHistory =
    "temporary files are in memory or on the network here, which is no place for a history";

class TemporaryPlace {
 public:
  TemporaryPlace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dynolog-hist-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;
  ~TemporaryPlace() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// After n seconds: 3 of 10 CPU seconds a second are user, 2 are iowait, 5 idle; eth0 receives 1000
// bytes a second, eth1 twice that; MemFree is 100 + n. It was
// started 50 seconds before.
class TestHost {
 public:
  const Frame& tick() {
    const Nanoseconds now = std::chrono::seconds(++seconds_);
    const auto n = static_cast<double>(seconds_);
    writer_.begin_tick(WallTime(std::chrono::seconds(kTestStart) + now + jump_),
                       MonotonicTime(now));
    writer_.begin_source(0, MonotonicTime(now));
    put("cpu.time.all", "user", all_busy_ ? 0.62 * n : 3 * n);
    if (all_busy_) put("cpu.time.all", "system", 0.3 * n);
    put("cpu.time.all", "iowait", all_busy_ ? 0 : 2 * n);
    put("cpu.time.all", "idle", all_busy_ ? 0 : 5 * n);
    put("net.bytes", "eth0", 1000 * n - reset_);
    if (has_eth1_) {
      put("net.bytes", "eth1", 2000 * n);
    } else {
      writer_.close(handles_["net.bytes/eth1"]);
    }
    put("memory.field", "MemFree", 100 + n);
    put("memory.limit", "", 1000);
    put("memory.available", "", 250);
    put("host.boot_time", "", kTestStart - 50);
    writer_.end_source({});
    if (seconds_ % 10 == 0) {
      writer_.begin_source(1, MonotonicTime(now));
      put("slow.count", "", 7 * n);
      put("slow.level", "", n);
      writer_.end_source({});
    }
    return writer_.finish_tick();
  }
  // So many seconds pass in which nobody reads.
  void skip(std::int64_t seconds) { seconds_ += seconds; }
  // No CPU idles, in seconds that are no whole ones.
  void keep_all_cpus_busy() { all_busy_ = true; }
  void reset_eth0() { reset_ = 1000 * static_cast<double>(seconds_); }
  void remove_eth1() { has_eth1_ = false; }
  void set_clock(Nanoseconds by) { jump_ += by; }
  [[nodiscard]] std::int64_t now_ms() const {
    return (kTestStart + seconds_) * 1000 + std::chrono::duration_cast<Milliseconds>(jump_).count();
  }

 private:
  void put(std::string_view id, std::string_view label, double value) {
    const std::string key = std::string(id) + "/" + std::string(label);
    SeriesHandle& handle = handles_[key];
    if (!handle.valid()) {
      const std::vector<std::string_view> labels(label.empty() ? 0 : 1, label);
      handle = writer_.open(*find_metric(kTestSections, id), labels);
    }
    writer_.set(handle, value);
  }

  std::int64_t seconds_ = 0;
  Nanoseconds jump_{0};
  double reset_ = 0;
  bool all_busy_ = false;
  bool has_eth1_ = true;
  std::map<std::string, SeriesHandle> handles_;
  FrameWriter writer_{2, 100};
};

// A keeper, and the rows that are not written yet.
class KeptHistory {
 public:
  explicit KeptHistory(std::string directory = "", std::uint64_t bytes = 64U << 20U,
                       std::uint64_t session = 1, std::uint64_t memory_bytes = 64U << 20U)
      : keeper_({.log = log_,
                 .catalogue = kTestSections,
                 .directory = std::move(directory),
                 .memory_reason = "by the test",
                 .bytes = bytes,
                 .memory_bytes = memory_bytes,
                 .session = session,
                 .report = [this](const std::string& state, const std::string& reason) {
                   reports_.push_back(state + ": " + reason);
                 }}) {}

  void run(TestHost& host, std::int64_t seconds) {
    for (std::int64_t i = 0; i < seconds; ++i) {
      auto row = std::make_unique<Row>();
      row->fill(host.tick());
      const auto stretch = [](const Row& of) {
        return stretch_begin(of.tick.wall_ms, kWriteEveryMs);
      };
      if (!rows_.empty() && stretch(*rows_.front()) != stretch(*row)) flush();
      rows_.push_back(std::move(row));
    }
    now_ms_ = host.now_ms();
  }
  Status flush() {
    const auto views = pending();
    Status written = keeper_.write(views);
    rows_.clear();
    return written;
  }

  Result<Answer> ask(Question question) {
    const auto views = pending();
    keeper_.begin_question(views);
    auto result = answer(question, {.catalogue = kTestSections,
                                    .index = keeper_.index(),
                                    .blocks = keeper_,
                                    .now_ms = now_ms_,
                                    .interval_ms = 1000,
                                    .limits = {},
                                    .is_over = is_over});
    keeper_.end_question();
    return result;
  }
  // The values of the only series of one expression, over the last so many seconds.
  std::vector<double> values(Expression expression, std::int64_t last_s, std::int64_t step_s) {
    Question question{.expressions = {std::move(expression)},
                      .last_ms = last_s * 1000,
                      .begin_ms = {},
                      .end_ms = {},
                      .step_ms = step_s * 1000};
    auto result = ask(question);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return {};
    EXPECT_EQ(result->results.at(0).series.size(), 1U);
    return result->results.at(0).series.at(0).values;
  }
  // The readings of a counter's only series, one for each second from the host's `first` to its
  // `last`, NaN where there is none; empty when the series is not known.
  std::vector<double> readings(const std::string& selector, std::int64_t first, std::int64_t last) {
    auto result = ask({.expressions = {{.selector = selector, .value = Value::raw}},
                       .last_ms = {},
                       .begin_ms = (kTestStart + first) * 1000,
                       .end_ms = (kTestStart + last + 1) * 1000,
                       .step_ms = 1000});
    if (!result || result->results.at(0).series.empty()) return {};
    EXPECT_EQ(result->results.at(0).series.size(), 1U);
    return result->results.at(0).series.at(0).values;
  }
  // Why there is no answer.
  std::string problem(Expression expression) {
    const auto result = ask({.expressions = {std::move(expression)}});
    return result ? "" : result.error().message;
  }

  std::function<bool()> is_over = nullptr;  // of the questions that are asked

  [[nodiscard]] Keeper& keeper() { return keeper_; }
  [[nodiscard]] const std::vector<std::string>& reports() const { return reports_; }
  [[nodiscard]] CapturingLog& log() { return log_; }

 private:
  [[nodiscard]] std::vector<const Row*> pending() const {
    std::vector<const Row*> views;
    for (const auto& row : rows_) views.push_back(row.get());
    return views;
  }

  CapturingLog log_;
  std::vector<std::string> reports_;
  Keeper keeper_;
  std::vector<std::unique_ptr<Row>> rows_;
  std::int64_t now_ms_ = 0;
};

}  // namespace dynolog::history
