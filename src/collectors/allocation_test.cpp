// The steady state of collectors and frame allocates nothing. Counts every operator new of this
// program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "collectors/all_collectors.h"
#include "metrics/sampler.h"
#include "testing/capturing_log.h"

namespace {

std::atomic<std::size_t> allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace dynolog {
namespace {

// Wall time that moves by 10 s at each tick, so that every tier below the slow one is read.
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime monotonic() const override { return MonotonicTime(now); }
  [[nodiscard]] WallTime wall() const override { return WallTime(now); }
  Nanoseconds now = std::chrono::seconds(1'700'000'000);
};

// Collectors that this host has no source for. They are looked at again each minute, with an error
// that is text.
std::vector<std::string> missing_here(const CollectorWorld& world) {
  SteppingClock clock;
  CapturingLog log;
  auto collectors = make_collectors(world, {});
  Sampler sampler(PipelineOptions{}, std::move(*collectors), {}, clock, log);
  sampler.tick(0, 0);
  std::vector<std::string> names = {"top"};  // processes come and go on this host
  for (const StageState& state : sampler.states()) {
    if (!state.failing) continue;
    EXPECT_FALSE(log.lines().empty());
    EXPECT_EQ(log.count("collector " + state.name + " is not available here"), 1U) << state.name;
    names.push_back(state.name);
  }
  return names;
}

TEST(Allocations, NoneInTheSteadyState) {
  SteppingClock clock;
  CapturingLog log;
  CollectorWorld world;  // this host's /proc
  world.read_counters = [](const CounterVisitor& visit) { visit("rpc_requests", 1); };
  auto collectors = make_collectors(world, missing_here(world));
  ASSERT_TRUE(collectors);
  Sampler sampler(PipelineOptions{}, std::move(*collectors), {}, clock, log);
  const auto tick = [&] {
    clock.now += std::chrono::seconds(10);
    sampler.tick(0, 0);
  };
  for (int i = 0; i < 3; ++i) tick();
  const std::size_t before = allocations;
  EXPECT_GT(before, 0U) << "the counting works";
  for (int i = 0; i < 100; ++i) tick();
  EXPECT_EQ(allocations - before, 0U);
  EXPECT_TRUE(log.lines().empty()) << log.lines()[0].text;
}

}  // namespace
}  // namespace dynolog
