// A tick of the default daemon allocates nothing on its thread: collectors, frame, and the sinks
// that are on by default. Here, and on each recorded host, which has the devices that this one has
// not. Counts every operator new of this program, by thread: the history's own may have what it
// needs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <new>
#include <string>
#include <vector>

#include "collectors/all_collectors.h"
#include "metrics/sampler.h"
#include "sinks/history/history.h"
#include "sinks/prometheus.h"
#include "testing/capturing_log.h"
#include "testing/source_tree.h"

namespace {

thread_local std::size_t allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  return std::malloc(size);
}

void* counted_or_throw(std::size_t size) {
  if (void* memory = counted(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted_or_throw(size); }
void* operator new[](std::size_t size) { return counted_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace dynolog {
namespace {

namespace fs = std::filesystem;

// Wall time that moves by 10 s at each tick: every tier but the slow one is read each time, the
// slow one each sixth time, and the history writes after each third.
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime monotonic() const override { return MonotonicTime(now); }
  [[nodiscard]] WallTime wall() const override { return WallTime(now); }
  Nanoseconds now = std::chrono::seconds(1'700'000'000);
};
constexpr int kTicksOfAStretch = 3;

SystemRoot root_at(const std::string& top) {
  return {.proc = top + "/proc",
          .sys = top + "/sys",
          .dev = top + "/dev",
          .etc = top + "/etc",
          .run = top + "/run"};
}

// Collectors that the host has no source for: what is looked for again each minute ends in an
// error, which is text.
std::vector<std::string> missing_at(const CollectorWorld& world) {
  const SteppingClock clock;
  CapturingLog log;
  auto collectors = make_collectors(world, {});
  Sampler sampler(PipelineOptions{}, std::move(*collectors), {}, clock, log);
  sampler.tick(0, 0);
  std::vector<std::string> names;
  for (const StageState& state : sampler.states()) {
    if (state.failing) names.push_back(state.name);
  }
  return names;
}

class TickAllocations : public testing::Test {
 protected:
  // What three minutes of ticks allocate, when all has been seen.
  void run(const CollectorWorld& world, std::vector<std::string> left_out) {
    auto collectors = make_collectors(world, left_out);
    ASSERT_TRUE(collectors) << collectors.error().message;
    ran_ = collectors->size();
    const auto history = history::History::start({.clock = clock_,
                                                  .log = log_,
                                                  .catalogue = metric_catalogue(),
                                                  .directory = "",
                                                  .memory_reason = "a test",
                                                  .report = [](const auto&, const auto&) {}});
    PrometheusSinkOptions options;
    options.port = 0;
    auto page = make_prometheus_sink(options, metric_catalogue(), clock_,
                                     {.version = "1", .interval = std::chrono::seconds(10)});
    ASSERT_TRUE(page) << page.error().message;
    std::vector<std::unique_ptr<Sink>> sinks;
    sinks.push_back(std::move(*page));
    sinks.push_back(history->make_sink());
    Sampler sampler(PipelineOptions{}, std::move(*collectors), std::move(sinks), clock_, log_);
    make_rows(sampler, *history);
    for (int i = 0; i < 4; ++i) stretch(sampler, *history);
    const std::size_t lines = log_.lines().size();
    counted_ = 0;
    for (int i = 0; i < 6; ++i) stretch(sampler, *history);
    EXPECT_EQ(log_.lines().size(), lines) << log_.lines().back().text;
  }

  // As many rows as the history will ever need: its thread answers a question meanwhile, so that
  // none of them is free again. Later it depends on the two threads' speed how many are in use.
  void make_rows(Sampler& sampler, history::History& history) {
    std::promise<void> answering;
    std::promise<void> made;
    history.list({.selector = "load.1m"}, [&](const auto&) {
      answering.set_value();
      made.get_future().wait();
    });
    answering.get_future().wait();
    for (int i = 0; i < 4 * kTicksOfAStretch; ++i) tick(sampler);
    made.set_value();
    wait_for(history);
  }

  void tick(Sampler& sampler) {
    clock_.now += std::chrono::seconds(10);
    sampler.tick(0, 0);
  }

  static void wait_for(history::History& history) {
    std::promise<void> answered;
    history.list({.selector = "load.1m"}, [&](const auto&) { answered.set_value(); });
    answered.get_future().wait();
  }

  // The history has written the stretch before when this returns, and its rows are free.
  void stretch(Sampler& sampler, history::History& history) {
    const std::size_t before = allocations;
    for (int i = 0; i < kTicksOfAStretch; ++i) tick(sampler);
    counted_ += allocations - before;
    wait_for(history);
    EXPECT_GT(allocations, before) << "the counting works";
  }

  SteppingClock clock_;
  CapturingLog log_;
  std::size_t counted_ = 0;
  std::size_t ran_ = 0;
};

TEST_F(TickAllocations, NoneOnThisHost) {
  CollectorWorld world;
  world.read_counters = [](const CounterVisitor& visit) { visit("rpc_requests", 1); };
  auto left_out = missing_at(world);
  left_out.emplace_back("top");  // processes come and go on this host
  run(world, std::move(left_out));
  EXPECT_EQ(counted_, 0U);
}

TEST_F(TickAllocations, NoneOnAnyRecordedHost) {
  for (const auto& host : fs::directory_iterator(DYNOLOG_HOSTS_DIR)) {
    CollectorWorld world;
    world.root = root_at(host.path().string());
    run(world, missing_at(world));
    EXPECT_EQ(counted_, 0U) << host.path().filename();
    EXPECT_GT(ran_, 0U) << host.path().filename();
  }
}

}  // namespace
}  // namespace dynolog
