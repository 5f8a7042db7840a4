// For tests of collectors: recorded hosts, a /proc tree of the test's own, and what a collector
// says tick by tick.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/asked.h"
#include "metrics/collector.h"
#include "metrics/frame_rates.h"
#include "metrics/frame_writer.h"
#include "testing/source_tree.h"

namespace dynolog {

// A /proc of the test's own, and a /sys, /etc and /run beside it.
class ProcTree {
 public:
  ProcTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dynolog-proc-XXXXXX").string();
    top_ = ::mkdtemp(pattern.data());
    root_.proc = top_ + "/proc";
    root_.sys = top_ + "/sys";
    root_.etc = top_ + "/etc";
    root_.run = top_ + "/run";
    std::filesystem::create_directory(root_.proc);
  }
  ProcTree(const ProcTree&) = delete;
  ProcTree& operator=(const ProcTree&) = delete;
  ~ProcTree() { std::filesystem::remove_all(top_); }

  // `name` below /proc, with its directories.
  void write(const std::string& name, std::string_view text) const { put("proc/" + name, text); }
  // `path` begins with proc/, sys/, etc/ or run/.
  void put(const std::string& path, std::string_view text) const {
    const std::filesystem::path file = top_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::trunc) << text;
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(top_ + "/" + path); }
  [[nodiscard]] const SystemRoot& root() const { return root_; }

 private:
  std::string top_;
  SystemRoot root_;
};

inline SystemRoot recorded_host(const std::string& host = "vm-2cpu") {
  const std::string top = std::string(DYNOLOG_HOSTS_DIR) + "/" + host;
  SystemRoot root;
  root.proc = top + "/proc";
  root.sys = top + "/sys";
  root.etc = top + "/etc";
  root.run = top + "/run";
  return root;
}

inline std::unique_ptr<Collector> must(Result<std::unique_ptr<Collector>> made) {
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

// A worker that answers when the test says so.
template <class T>
class FakeAsked final : public Asked<T> {
 public:
  void ask() override { ++asked; }
  [[nodiscard]] std::shared_ptr<const Answer<T>> newest() const override { return newest_; }
  void answer(Result<T> value, int second = 0) {
    newest_ = std::make_shared<const Answer<T>>(
        Answer<T>{MonotonicTime(std::chrono::seconds(second)), std::move(value)});
  }
  int asked = 0;

 private:
  std::shared_ptr<const Answer<T>> newest_;
};

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
    events_ = writer_.take_events();
    const Frame& frame = writer_.finish_tick();
    rates_.update(frame);
    std::map<std::string, double> values;
    increases_.clear();
    for (Slot slot = 0; slot < frame.table()->size(); ++slot) {
      const Series* series = frame.table()->at(slot);
      if (series == nullptr || !frame.value(slot)) continue;
      std::string key(series->descriptor->id);
      for (const auto& value : series->label_values) key += " " + value;
      values[key] = *frame.value(slot);
      if (const auto& increase = rates_.of(slot)) increases_[key] = increase->amount;
    }
    return values;
  }
  // Of counters, from the last tick but one to the last.
  [[nodiscard]] const std::map<std::string, double>& increases() const { return increases_; }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const FrameWriter& writer() const { return writer_; }
  // Of the last tick.
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] const Collector& collector() const { return *collector_; }

 private:
  std::unique_ptr<Collector> collector_;
  FrameWriter writer_{1, 100'000};
  FrameRates rates_{std::chrono::minutes(1)};
  std::map<std::string, double> increases_;
  int second_ = 0;
  Status status_;
  std::vector<Event> events_;
};

}  // namespace dynolog
