// What the daemon says of its own cost: since when rates are, what is read how often.
#include "daemon/own_cost.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

class OwnCostTest : public ::testing::Test {
 protected:
  OwnCostTest() {
    std::string pattern = ::testing::TempDir() + "own_cost_XXXXXX";
    root_.proc = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(root_.proc + "/self/fd");
    write("smaps_rollup", "Rss: 300 kB\nPss: 200 kB\n");
    write("stat", "1 (a) R 1 1 1 0 -1 4194304 127 0 0 0 11 12 0 0 20 0 7 0 97897 3133440 75 1\n");
  }
  ~OwnCostTest() override { std::filesystem::remove_all(root_.proc); }

  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(replace_file(root_.proc + "/self/" + name, text, 0600));
  }
  OwnCost cost() {
    return OwnCost({.clock = clock_,
                    .root = root_,
                    .page_size = 4096,
                    .usage = [this] { return usage_; },
                    .workers = [] { return 3U; },
                    .worker_restarts = [] { return 7U; }});
  }
  rpc::OwnCost fill(OwnCost& cost) {
    reply_ = {};
    cost.fill(reply_);
    return reply_.cost.value();
  }

  FakeClock clock_;
  SystemRoot root_;
  SelfUsage usage_{.user = 90ms, .system = 10ms, .voluntary_switches = 50};
  rpc::StatusReply reply_;
};

TEST_F(OwnCostTest, SaysWhatIsNow) {
  OwnCost cost = this->cost();
  const rpc::OwnCost said = fill(cost);
  EXPECT_EQ(said.memory_bytes, 200U << 10U);
  EXPECT_EQ(said.memory_kind, "pss");
  EXPECT_EQ(reply_.resident_bytes, 300U << 10U);
  EXPECT_EQ(said.workers, 3U);
  EXPECT_EQ(said.worker_restarts, 7U);
  EXPECT_GT(said.descriptor_limit, 0U);
  EXPECT_TRUE(said.open_descriptors);
  EXPECT_DOUBLE_EQ(reply_.cpu_seconds.value(), 0.1);
  EXPECT_FALSE(said.cpu_share) << "no time has passed that it could be of";
  EXPECT_FALSE(said.wakeups_per_s);
}

TEST_F(OwnCostTest, RatesAreSinceTheStartAtFirst) {
  OwnCost cost = this->cost();
  clock_.advance(4s);
  usage_ = {.user = 290ms, .system = 10ms, .voluntary_switches = 60};
  const rpc::OwnCost said = fill(cost);
  EXPECT_DOUBLE_EQ(said.window_s, 4);
  EXPECT_DOUBLE_EQ(said.cpu_share.value(), 0.05);
  EXPECT_DOUBLE_EQ(said.wakeups_per_s.value(), 2.5);
}

TEST_F(OwnCostTest, LaterTheyAreSinceTheLastButOneOfTheCollectorsRuns) {
  OwnCost cost = this->cost();
  usage_.user = 60s;  // a start that cost much, and is long over
  for (int run = 0; run < 3; ++run) {
    clock_.advance(10s);
    cost.note();
  }
  clock_.advance(5s);
  usage_.user += 150ms;
  usage_.voluntary_switches += 30;
  const rpc::OwnCost said = fill(cost);
  EXPECT_DOUBLE_EQ(said.window_s, 15);
  EXPECT_DOUBLE_EQ(said.cpu_share.value(), 0.01);
  EXPECT_DOUBLE_EQ(said.wakeups_per_s.value(), 2);
}

TEST_F(OwnCostTest, MemoryIsReadOnceASecond) {
  OwnCost cost = this->cost();
  EXPECT_EQ(fill(cost).memory_bytes, 200U << 10U);
  write("smaps_rollup", "Pss: 500 kB\n");
  clock_.advance(900ms);
  EXPECT_EQ(fill(cost).memory_bytes, 200U << 10U);
  clock_.advance(100ms);
  EXPECT_EQ(fill(cost).memory_bytes, 500U << 10U);
}

TEST_F(OwnCostTest, ResidentWhereTheKernelRefusesTheOther) {
  std::filesystem::remove(root_.proc + "/self/smaps_rollup");
  OwnCost cost = this->cost();
  const rpc::OwnCost said = fill(cost);
  EXPECT_EQ(said.memory_bytes, 300U << 10U);
  EXPECT_EQ(said.memory_kind, "rss");
}

}  // namespace
}  // namespace dynolog
