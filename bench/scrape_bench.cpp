// What a scrape costs: a page for a host of 192 CPUs, rendered, against the bare copying of its
// bytes; and what it costs the metrics thread to hand a frame over.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "metrics/frame_writer.h"
#include "net/gzip.h"
#include "sinks/prometheus_page.h"

namespace {

using namespace dynolog;

constexpr std::array kMetrics = {
    MetricDescriptor{.id = "cpu.time",
                     .kind = MetricKind::counter,
                     .help = "Time of one CPU by mode",
                     .source = "bench",
                     .labels = {LabelKey{"cpu", ""}, LabelKey{"mode", ""}},
                     .prometheus = {.name = "node_cpu_seconds_total"}},
    MetricDescriptor{.id = "nic.bytes",
                     .kind = MetricKind::counter,
                     .help = "Bytes of a device",
                     .source = "bench",
                     .labels = {LabelKey{"device", ""}},
                     .prometheus = {.name = "node_network_receive_bytes_total"}},
};
constexpr std::array kSections = {CatalogueSection{"bench", Tier::fast, kMetrics}};

// 192 CPUs of ten modes, and 1,000 devices.
class Host {
 public:
  Host() {
    writer_.begin_tick({}, {});
    writer_.begin_source(0, {});
    double value = 1234.56;
    for (int cpu = 0; cpu < 192; ++cpu) {
      for (int mode = 0; mode < 10; ++mode) {
        const SeriesHandle handle =
            writer_.open(kMetrics[0], {fmt::to_string(cpu), fmt::format("mode{}", mode)});
        writer_.set(handle, value += 7.01);
      }
    }
    for (int device = 0; device < 1000; ++device) {
      const SeriesHandle handle = writer_.open(kMetrics[1], {fmt::format("eth{}", device)});
      writer_.set(handle, (value += 100) * 1'000'003);
    }
    writer_.end_source({});
    frame_ = &writer_.finish_tick();
  }
  [[nodiscard]] const Frame& frame() const { return *frame_; }

 private:
  FrameWriter writer_{1, 100'000};
  const Frame* frame_ = nullptr;
};

void per_line(benchmark::State& state, std::size_t lines, std::size_t bytes) {
  state.counters["per_line"] =
      benchmark::Counter(static_cast<double>(lines), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
  state.counters["lines"] = static_cast<double>(lines);
  state.counters["bytes"] = static_cast<double>(bytes);
}

void render(benchmark::State& state) {
  const Host host;
  PrometheusPage page(kSections, {}, 100'000);
  std::string text;
  for ([[maybe_unused]] auto _ : state) {
    text.clear();
    page.render(host.frame(), PageFormat::text, {}, text);
    benchmark::DoNotOptimize(text.data());
  }
  per_line(state, page.series(), text.size());
}
BENCHMARK(render);

// The floor: the page's bytes, copied.
void copy(benchmark::State& state) {
  const Host host;
  PrometheusPage page(kSections, {}, 100'000);
  std::string text;
  page.render(host.frame(), PageFormat::text, {}, text);
  std::string other(text.size(), '\0');
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(other.data(), text.data(), text.size());
    benchmark::ClobberMemory();
  }
  per_line(state, page.series(), text.size());
}
BENCHMARK(copy);

// When series opened or closed: prefixes are rendered anew.
void plan_and_render(benchmark::State& state) {
  const Host host;
  std::string text;
  std::size_t lines = 0;
  for ([[maybe_unused]] auto _ : state) {
    text.clear();
    PrometheusPage page(kSections, {}, 100'000);
    page.render(host.frame(), PageFormat::text, {}, text);
    lines = page.series();
  }
  per_line(state, lines, text.size());
}
BENCHMARK(plan_and_render);

void compress(benchmark::State& state) {
  const Host host;
  PrometheusPage page(kSections, {}, 100'000);
  std::string text;
  page.render(host.frame(), PageFormat::text, {}, text);
  std::size_t size = 0;
  for ([[maybe_unused]] auto _ : state) size = gzip(text).value_or("").size();
  per_line(state, page.series(), size);
}
BENCHMARK(compress);

// On the metrics thread, at each tick.
void hand_over(benchmark::State& state) {
  const Host host;
  Frame newest;
  for ([[maybe_unused]] auto _ : state) {
    newest = host.frame();
    benchmark::DoNotOptimize(newest.values().data());
  }
  per_line(state, host.frame().values().size(), 0);
}
BENCHMARK(hand_over);

}  // namespace

BENCHMARK_MAIN();
