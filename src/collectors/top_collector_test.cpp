// The processes that use most: who is among them, and for how long.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "collectors/collector_fixture.h"
#include "collectors/top.h"

namespace dynolog {
namespace {

using ::testing::IsEmpty;

class TopTest : public ::testing::Test {
 protected:
  struct Use {
    int cpu = 0;
    int pages = 0;
    int read = 0;
    int start = 1;
    int address_space = 8192;
  };
  void process(int pid, const Use& use) const {
    tree_.write(fmt::format("{}/stat", pid),
                fmt::format("{} (p {}) R 1 1 1 0 -1 0 10 0 2 0 {} 0 0 0 20 0 12 0 {} {} {}", pid,
                            pid, use.cpu, use.start, use.address_space, use.pages));
    tree_.write(fmt::format("{}/io", pid),
                fmt::format("read_bytes: {}\nwrite_bytes: 0\n", use.read));
  }
  void make(int processes) {
    ticks_.emplace(make_top_collector(
        tree_.root(), {.processes = processes}, [this] { return looked_at_; }, 4096, 100));
  }
  // The pids that have series.
  std::set<int> shown() {
    std::set<int> pids;
    for (const auto& [key, value] : ticks_->tick()) {
      if (!key.starts_with("process.threads ")) continue;
      pids.insert(std::stoi(key.substr(std::string_view("process.threads ").size())));
    }
    return pids;
  }

  ProcTree tree_;
  bool looked_at_ = false;
  std::optional<Ticks> ticks_;
};

TEST_F(TopTest, FirstByCpuMemoryAndIo) {
  make(1);
  for (int pid = 1; pid <= 5; ++pid) process(pid, {.cpu = 100, .pages = 2, .read = 50});
  process(2, {.cpu = 100, .pages = 9, .read = 50});
  EXPECT_EQ(shown(), (std::set{2})) << "of the first look only the memory counts";
  process(3, {.cpu = 400, .pages = 2, .read = 50});
  process(4, {.cpu = 101, .pages = 2, .read = 70});
  EXPECT_EQ(shown(), (std::set{2, 3, 4}));
  const auto values = ticks_->tick();
  const std::string uid = fmt::to_string(::geteuid());
  EXPECT_EQ(values.at("process.cpu_time 3 p 3 " + uid + " user"), 4);
  EXPECT_EQ(values.at("process.resident_memory 2 p 2 " + uid), 9 * 4096);
  EXPECT_EQ(values.at("process.disk_io 4 p 4 " + uid + " read"), 70);
  // They are among them for a while after they stopped using most.
  for (int i = 0; i < 4; ++i) EXPECT_EQ(shown(), (std::set{2, 3, 4}));
  EXPECT_EQ(shown(), (std::set{2}));
}

// Its second file is not read until then.
TEST_F(TopTest, WhatAProcessReadCountsOnceItHasRun) {
  make(1);
  process(2, {.cpu = 100, .pages = 9});
  process(3, {.cpu = 100, .pages = 2, .read = 50});
  EXPECT_EQ(shown(), (std::set{2}));
  process(3, {.cpu = 100, .pages = 2, .read = 70});
  EXPECT_EQ(shown(), (std::set{2}));
  process(2, {.cpu = 105, .pages = 9});
  process(3, {.cpu = 101, .pages = 2, .read = 80});
  EXPECT_EQ(shown(), (std::set{2, 3}));
  EXPECT_EQ(ticks_->tick().at("process.disk_io 3 p 3 " + fmt::to_string(::geteuid()) + " read"),
            80);
}

TEST_F(TopTest, ProcessesEndAndPidsAreTakenAgain) {
  make(10);
  process(7, {.cpu = 1, .pages = 5});
  process(8, {.cpu = 1, .pages = 5});
  EXPECT_EQ(shown(), (std::set{7, 8}));
  tree_.remove("proc/7");
  process(8, {.cpu = 0, .pages = 6, .start = 2});
  process(9, {.cpu = 0, .pages = 6});
  EXPECT_EQ(shown(), (std::set{8, 9}));
  tree_.write("10/stat", "nonsense");
  EXPECT_EQ(shown(), (std::set{8, 9}));
}

TEST_F(TopTest, KernelThreadsHaveNoMemoryAndNoIo) {
  make(10);
  process(2, {.cpu = 5, .read = 5, .address_space = 0});
  EXPECT_THAT(shown(), IsEmpty());
  process(2, {.cpu = 9, .read = 9, .address_space = 0});
  EXPECT_EQ(shown(), (std::set{2}));
  for (const auto& [key, value] : ticks_->tick()) EXPECT_FALSE(key.starts_with("process.disk"));
}

TEST_F(TopTest, AKernelThreadThatSleptIsLookedAtOnceAMinute) {
  make(10);
  const auto thread = [&](int cpu) { process(2, {.cpu = cpu, .address_space = 0}); };
  thread(5);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(shown(), IsEmpty());
  thread(6);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(shown(), IsEmpty());
  EXPECT_EQ(shown(), (std::set{2}));
  thread(7);
  EXPECT_EQ(ticks_->tick().at("process.cpu_time 2 p 2 " + fmt::to_string(::geteuid()) + " user"),
            0.07)
      << "one that runs is looked at each time";
  for (int i = 0; i < 7; ++i) shown();
  EXPECT_THAT(shown(), IsEmpty());
  thread(8);
  looked_at_ = true;
  EXPECT_EQ(shown(), (std::set{2})) << "somebody looks";
}

TEST_F(TopTest, OffAndLookedAt) {
  make(0);
  process(2, {.pages = 9});
  EXPECT_THAT(ticks_->tick(), IsEmpty());
  EXPECT_TRUE(ticks_->status());
  const auto collector =
      make_top_collector(tree_.root(), {.processes = 5}, [this] { return looked_at_; }, 4096, 100);
  EXPECT_FALSE(collector->has_news());
  looked_at_ = true;
  EXPECT_TRUE(collector->has_news());
}

}  // namespace
}  // namespace dynolog
