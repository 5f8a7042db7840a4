// What a request of OTLP costs: a host of 192 CPUs and 1,000 devices encoded, against the bare
// copying of its bytes; compressing it; and what a frame between two requests costs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "metrics/frame_writer.h"
#include "net/gzip.h"
#include "sinks/otlp_encoding.h"

namespace {

using namespace dynolog;
using std::chrono::seconds;

constexpr MetricDescriptor kTime{
    .id = "cpu.time",
    .kind = MetricKind::counter,
    .unit = Unit::seconds,
    .help = "Time of one CPU by mode",
    .source = "bench",
    .labels = {LabelKey{"cpu", "cpu.logical_number"}, LabelKey{"mode", "cpu.mode"}},
    .otlp = {.name = "system.cpu.time"}};
constexpr MetricDescriptor kBytes{.id = "nic.bytes",
                                  .kind = MetricKind::counter,
                                  .unit = Unit::bytes,
                                  .help = "Bytes of a device",
                                  .source = "bench",
                                  .labels = {LabelKey{"device", "network.interface.name"}},
                                  .otlp = {.name = "system.network.io",
                                           .fixed_key = "network.io.direction",
                                           .fixed_value = "receive"}};
constexpr MetricDescriptor kFrequency{.id = "cpu.frequency",
                                      .unit = Unit::hertz,
                                      .help = "Frequency of a CPU",
                                      .source = "bench",
                                      .labels = {LabelKey{"cpu", "cpu.logical_number"}},
                                      .otlp = {.name = "system.cpu.frequency"}};

// 192 CPUs of ten modes and a frequency each, and 1,000 devices; every value moves at each tick.
class Host {
 public:
  const Frame& tick() {
    ++second_;
    writer_.begin_tick(WallTime(seconds(1'700'000'000 + second_)), MonotonicTime(seconds(second_)));
    writer_.begin_source(0, MonotonicTime(seconds(second_)));
    if (handles_.empty()) open();
    double value = 1234.56 * second_;
    for (const SeriesHandle handle : handles_) writer_.set(handle, value += 7.01);
    writer_.end_source({});
    return writer_.finish_tick();
  }

 private:
  void open() {
    for (int cpu = 0; cpu < 192; ++cpu) {
      const std::string number = fmt::to_string(cpu);
      for (int mode = 0; mode < 10; ++mode) {
        handles_.push_back(writer_.open(kTime, {number, fmt::format("mode{}", mode)}));
      }
      handles_.push_back(writer_.open(kFrequency, {number}));
    }
    for (int device = 0; device < 1000; ++device) {
      handles_.push_back(writer_.open(kBytes, {fmt::format("eth{}", device)}));
    }
  }

  FrameWriter writer_{1, 100'000};
  std::vector<SeriesHandle> handles_;
  int second_ = 0;
};

void per_point(benchmark::State& state, std::size_t points, std::size_t bytes) {
  state.counters["per_point"] = benchmark::Counter(
      static_cast<double>(points),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["points"] = static_cast<double>(points);
  state.counters["bytes_per_point"] = static_cast<double>(bytes) / static_cast<double>(points);
}

std::string encoded(Host& host, OtlpEncoder& encoder, IntervalValues& means) {
  const Frame& frame = host.tick();
  means.add(frame);
  const auto batches = encoder.encode(frame, means);
  means.restart();
  return batches.front().bytes;
}

constexpr std::size_t kPoints = 192 * 11 + 1000;

void encode(benchmark::State& state) {
  Host host;
  OtlpEncoder encoder(
      {.resource = {{"host.name", "bench"}}, .version = "1", .boot = {}, .started = {}});
  IntervalValues means(std::chrono::hours(1), IntervalValues::Of::gauges);
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    const Frame& frame = host.tick();
    means.add(frame);
    state.ResumeTiming();
    const auto batches = encoder.encode(frame, means);
    bytes = batches.front().bytes.size();
    state.PauseTiming();
    means.restart();
    state.ResumeTiming();
  }
  per_point(state, kPoints, bytes);
}
BENCHMARK(encode);

void copy(benchmark::State& state) {
  Host host;
  OtlpEncoder encoder({.resource = {}, .version = "1", .boot = {}, .started = {}});
  IntervalValues means(std::chrono::hours(1), IntervalValues::Of::gauges);
  const std::string text = encoded(host, encoder, means);
  std::string target(text.size(), '\0');
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(target.data(), text.data(), text.size());
    benchmark::DoNotOptimize(target.data());
  }
  per_point(state, kPoints, text.size());
}
BENCHMARK(copy);

void compress(benchmark::State& state) {
  Host host;
  OtlpEncoder encoder({.resource = {}, .version = "1", .boot = {}, .started = {}});
  IntervalValues means(std::chrono::hours(1), IntervalValues::Of::gauges);
  const std::string text = encoded(host, encoder, means);
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) bytes = gzip(text)->size();
  per_point(state, kPoints, bytes);
}
BENCHMARK(compress);

void frame_between(benchmark::State& state) {
  Host host;
  IntervalValues means(std::chrono::hours(1), IntervalValues::Of::gauges);
  const Frame& frame = host.tick();
  for ([[maybe_unused]] auto _ : state) means.add(frame);
  per_point(state, kPoints, 0);
}
BENCHMARK(frame_between);

}  // namespace

BENCHMARK_MAIN();
