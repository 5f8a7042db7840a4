// What a value costs: collectors with the frame on a host of 192 CPUs, 1,000 network devices and
// 1,000 disks, beside a floor that only reads the same files. Budget: at most 30 ns a value above
// the floor (above_floor_ns).
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "collectors/cpu.h"
#include "collectors/diskstats.h"
#include "collectors/interrupts.h"
#include "collectors/load.h"
#include "collectors/meminfo.h"
#include "collectors/netdev.h"
#include "collectors/netstat.h"
#include "collectors/schedstat.h"
#include "collectors/softnet.h"
#include "collectors/vmstat.h"
#include "metrics/frame_writer.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

constexpr int kCpus = 192;
constexpr int kDevices = 1000;

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

std::string large_net_dev() {
  std::string text = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop |bytes\n";
  for (int device = 0; device < kDevices; ++device) {
    fmt::format_to(std::back_inserter(text), "eth{}: {} {} 0 3 0 0 0 {} {} {} 1 0 0 0 0 0\n",
                   device, 98'765'432'109 + device * 7919, 87'654'321 + device, device,
                   12'345'678'901 + device * 131, 76'543'210 + device);
  }
  return text;
}

std::string large_diskstats() {
  std::string text;
  for (int disk = 0; disk < kDevices; ++disk) {
    fmt::format_to(std::back_inserter(text),
                   "259 {0} nvme{0}n1 {1} 21 {2} 4711 {3} 44 {4} 9123 0 8123 13834 5 0 40 3 9 7\n",
                   disk, 81'234 + disk, 9'123'456 + disk * 8, 71'234 + disk, 8'123'456 + disk * 8);
  }
  return text;
}

std::string large_softnet() {
  std::string text;
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    fmt::format_to(std::back_inserter(text),
                   "{:08x} 00000000 0000000{:x} 00000000 00000000 00000000 00000000 00000000 "
                   "00000000 00000000 00000000 00000000 {:08x} 00000000 00000000\n",
                   0x3f2a'0000 + cpu, cpu % 16, cpu);
  }
  return text;
}

std::string large_schedstat() {
  std::string text = "version 17\ntimestamp 4313912345\n";
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    fmt::format_to(std::back_inserter(text), "cpu{} 0 0 0 0 0 0 {} {} {}\n", cpu,
                   81'234'567'890'123 + cpu, 1'234'567'890'123 + cpu, 76'543'210 + cpu);
    for (int domain = 0; domain < 3; ++domain) {
      fmt::format_to(std::back_inserter(text), "domain{} ffffffff 81 2 3 4 5 6 7 8\n", domain);
    }
  }
  return text;
}

std::string large_interrupts() {
  std::string text = "    ";
  for (int cpu = 0; cpu < kCpus; ++cpu) fmt::format_to(std::back_inserter(text), " CPU{}", cpu);
  text += '\n';
  for (int line = 0; line < 300; ++line) {
    fmt::format_to(std::back_inserter(text), "{:4}:", line);
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      fmt::format_to(std::back_inserter(text), " {:10}", cpu == line % kCpus ? 81'234 + line : 0);
    }
    fmt::format_to(std::back_inserter(text), "  IR-PCI-MSI {}-edge  mlx5_comp{}\n", line, line);
  }
  return text;
}

// A /proc of such a host, in memory where there is such a place: reading it costs little, so that
// it does not hide what is measured.
class LargeHost {
 public:
  LargeHost() {
    std::string pattern =
        fs::exists("/dev/shm") ? "/dev/shm/dynolog-bench-XXXXXX" : "/tmp/dynolog-bench-XXXXXX";
    root_.proc = ::mkdtemp(pattern.data());
    root_.sys = root_.run = root_.proc + "/none";
    fs::create_directory(root_.proc + "/net");
    put("stat", large_proc_stat());
    put("loadavg", "95.20 96.18 91.12 97/5980 11206\n");
    put("net/dev", large_net_dev());
    put("diskstats", large_diskstats());
    put("net/softnet_stat", large_softnet());
    put("schedstat", large_schedstat());
    put("interrupts", large_interrupts());
    const fs::path recorded = std::string(DYNOLOG_SOURCE_DIR) + "/tests/fixtures/vm-2cpu/proc";
    for (const char* file : {"meminfo", "vmstat", "net/netstat", "net/snmp", "net/snmp6"}) {
      fs::copy_file(recorded / file, root_.proc + "/" + file);
    }
  }
  LargeHost(const LargeHost&) = delete;
  LargeHost& operator=(const LargeHost&) = delete;
  ~LargeHost() { fs::remove_all(root_.proc); }
  [[nodiscard]] const SystemRoot& root() const { return root_; }

 private:
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(root_.proc + "/" + name) << text;
  }
  SystemRoot root_;
};

// Of CPU: other programs do not count.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double seconds_of(auto&& work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

using Files = std::vector<const char*>;

// Seconds that reading the files takes once.
double floor_of(const SystemRoot& root, const Files& names) {
  constexpr int kReadings = 500;
  std::vector<KeptFile> files;
  for (const char* name : names) files.emplace_back(root.proc + "/" + name);
  const auto read_all_files = [&] {
    for (KeptFile& file : files) benchmark::DoNotOptimize(file.read_if_there());
  };
  read_all_files();
  return seconds_of([&] {
           for (int i = 0; i < kReadings; ++i) read_all_files();
         }) /
         kReadings;
}

using Made = Result<std::unique_ptr<Collector>>;
using Make = Made (*)(const SystemRoot& root);

void collect(benchmark::State& state, Make make, const Files& files) {
  const LargeHost host;
  const auto collector = make(host.root());
  if (!collector) return state.SkipWithError(collector.error().message.c_str());
  FrameWriter writer(1, 100'000);
  const auto tick = [&] {
    writer.begin_tick({}, {});
    writer.begin_source(0, {});
    const Status status = (*collector)->collect(writer);
    writer.end_source(status);
    benchmark::DoNotOptimize(writer.finish_tick().values().data());
    if (!status) state.SkipWithError(status.error().message.c_str());
  };
  tick();  // the series are open from here on
  const double took = seconds_of([&] {
    for ([[maybe_unused]] auto iteration : state) tick();
  });
  const double values = writer.finish_tick().table()->size();
  const double each = took / static_cast<double>(state.iterations());
  const double floor = floor_of(host.root(), files);
  state.counters["values"] = values;
  state.counters["floor_us"] = floor * 1e6;
  state.counters["above_floor_ns"] = (each - floor) / values * 1e9;
}

void cpu(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return Made(make_cpu_collector(root, 100)); },
          {"stat"});
}
void diskstats(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return make_diskstats_collector(root, {}); },
          {"diskstats"});
}
void interrupts(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return Made(make_interrupts_collector(root, {})); },
          {"interrupts"});
}
void load(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return Made(make_load_collector(root)); },
          {"loadavg"});
}
void meminfo(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return Made(make_meminfo_collector(root)); },
          {"meminfo"});
}
void netdev(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return make_netdev_collector(root, {}); },
          {"net/dev"});
}
void netstat(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return make_netstat_collector(root, {}); },
          {"net/netstat", "net/snmp", "net/snmp6"});
}
void schedstat(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return Made(make_schedstat_collector(root)); },
          {"schedstat"});
}
void softnet(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return Made(make_softnet_collector(root)); },
          {"net/softnet_stat"});
}
void vmstat(benchmark::State& state) {
  collect(state, [](const SystemRoot& root) { return make_vmstat_collector(root, {}); },
          {"vmstat"});
}

BENCHMARK(cpu);
BENCHMARK(diskstats);
BENCHMARK(interrupts);
BENCHMARK(load);
BENCHMARK(meminfo);
BENCHMARK(netdev);
BENCHMARK(netstat);
BENCHMARK(schedstat);
BENCHMARK(softnet);
BENCHMARK(vmstat);

}  // namespace
}  // namespace dynolog

BENCHMARK_MAIN();
