// What a value costs: collectors with the frame on a host of 192 CPUs, beside a floor that only
// reads the same files. Budget: at most 30 ns a value above the floor (the counters say
// ns_per_value).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/file.h"
#include "collectors/cpu.h"
#include "collectors/load.h"
#include "metrics/frame_writer.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

constexpr int kCpus = 192;

std::string large_proc_stat() {
  std::string text = "cpu  980000123 1234 45000321 99000000123 230045 0 120034 5004 300 20\n";
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    fmt::format_to(std::back_inserter(text), "cpu{} {} 12 {} {} {} 0 {} 40 3 1\n", cpu,
                   5'104'167 + cpu * 7919, 234'376 + cpu * 131, 515'625'000 + cpu * 104'729,
                   1198 + cpu, 625 + cpu);
  }
  text += "intr 98000000123";
  for (int line = 0; line < 4000; ++line) text += line % 9 == 0 ? " 81234" : " 0";
  text += "\nctxt 123456789012\nbtime 1700000000\nprocesses 9876543\nprocs_running 97\n";
  text += "procs_blocked 2\nsoftirq 5500000000 1 2 3 4 5 6 7 8 9 10\n";
  return text;
}

// A /proc of 192 CPUs, in memory where there is such a place: reading it costs little, so that it
// does not hide what is measured.
class LargeHost {
 public:
  LargeHost() {
    std::string pattern =
        fs::exists("/dev/shm") ? "/dev/shm/dynolog-bench-XXXXXX" : "/tmp/dynolog-bench-XXXXXX";
    root_.proc = ::mkdtemp(pattern.data());
    std::ofstream(root_.proc + "/stat") << large_proc_stat();
    std::ofstream(root_.proc + "/loadavg") << "95.20 96.18 91.12 97/5980 11206\n";
  }
  LargeHost(const LargeHost&) = delete;
  LargeHost& operator=(const LargeHost&) = delete;
  ~LargeHost() { fs::remove_all(root_.proc); }
  [[nodiscard]] const SystemRoot& root() const { return root_; }

 private:
  SystemRoot root_;
};

void read_only(benchmark::State& state, const char* name) {
  const LargeHost host;
  KeptFile file(host.root().proc + name);
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const auto text = file.read();
    if (!text) return state.SkipWithError("cannot read the file");
    bytes += text->size();
    benchmark::DoNotOptimize(bytes);
  }
}

void collect(benchmark::State& state, std::unique_ptr<Collector> (*make)(const SystemRoot& root)) {
  const LargeHost host;
  const auto collector = make(host.root());
  FrameWriter writer(1, 100'000);
  for ([[maybe_unused]] auto iteration : state) {
    writer.begin_tick({}, {});
    writer.begin_source(0, {});
    const Status status = collector->collect(writer);
    writer.end_source(status);
    benchmark::DoNotOptimize(writer.finish_tick().values().data());
    if (!status) return state.SkipWithError(status.error().message.c_str());
  }
  const double values = writer.finish_tick().table()->size();
  state.counters["values"] = values;
  state.counters["per_value"] = benchmark::Counter(
      values, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void floor_stat(benchmark::State& state) { read_only(state, "/stat"); }
void floor_loadavg(benchmark::State& state) { read_only(state, "/loadavg"); }
void cpu(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return make_cpu_collector(root, 100); });
}
void load(benchmark::State& state) { collect(state, make_load_collector); }

BENCHMARK(floor_stat);
BENCHMARK(cpu);
BENCHMARK(floor_loadavg);
BENCHMARK(load);

}  // namespace
}  // namespace dynolog

BENCHMARK_MAIN();
