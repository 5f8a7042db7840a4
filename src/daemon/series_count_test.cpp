// How many series the page has on a large host: 192 CPUs in two sockets, eight InfiniBand ports,
// eight drives. docs/prometheus.md says the number; this holds the daemon to it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "collectors/all_collectors.h"
#include "metrics/frame_writer.h"
#include "sinks/prometheus_page.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

constexpr int kCpus = 192;
constexpr std::size_t kMostSeries = 12'000;

// The recorded host's devices, with the directories of its CPUs, of which each is like another; and
// what any host has (protocols, memory, pressure) from another recording.
class LargeHost {
 public:
  LargeHost() {
    std::string pattern = (fs::temp_directory_path() / "dynolog-large-XXXXXX").string();
    top_ = ::mkdtemp(pattern.data());
    const fs::path hosts = DYNOLOG_HOSTS_DIR;
    constexpr auto kHow = fs::copy_options::recursive | fs::copy_options::copy_symlinks |
                          fs::copy_options::skip_existing;
    fs::copy(hosts / "numa-192cpu", top_, kHow);
    fs::copy(hosts / "vm-2cpu/proc", top_ + "/proc", kHow);
    for (int cpu = 0; cpu < kCpus; ++cpu) add_cpu(cpu);
    std::string disks;
    for (int drive = 0; drive < 8; ++drive) {
      disks += fmt::format("259 {0} nvme{0}n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", drive);
    }
    put("proc/diskstats", disks);
  }
  LargeHost(const LargeHost&) = delete;
  LargeHost& operator=(const LargeHost&) = delete;
  ~LargeHost() { fs::remove_all(top_); }

  [[nodiscard]] SystemRoot root() const {
    return {.proc = top_ + "/proc",
            .sys = top_ + "/sys",
            .dev = top_ + "/dev",
            .etc = top_ + "/etc",
            .run = top_ + "/run"};
  }

 private:
  void put(const std::string& path, std::string_view text) const {
    const fs::path file = top_ + "/" + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::trunc) << text;
  }

  // 96 cores, of which CPU n and n + 96 are one; a sensor for each core; a way to cool each CPU.
  void add_cpu(int cpu) const {
    const int core = cpu % 96;
    const int package = core / 48;
    const std::string at = fmt::format("sys/devices/system/cpu/cpu{}/", cpu);
    put(at + "topology/physical_package_id", fmt::format("{}\n", package));
    put(at + "topology/core_id", fmt::format("{}\n", core));
    put(at + "topology/core_cpus_list", fmt::format("{},{}\n", core, core + 96));
    put(at + "topology/package_cpus_list", package == 0 ? "0-47,96-143\n" : "48-95,144-191\n");
    put(at + "thermal_throttle/core_throttle_count", "0\n");
    put(at + "thermal_throttle/package_throttle_count", "0\n");
    for (const char* file : {"scaling_cur_freq", "scaling_min_freq", "scaling_max_freq",
                             "cpuinfo_min_freq", "cpuinfo_max_freq"}) {
      put(at + "cpufreq/" + file, "2100000\n");
    }
    const std::string cooling = fmt::format("sys/class/thermal/cooling_device{}/", 100 + cpu);
    put(cooling + "type", "Processor\n");
    put(cooling + "cur_state", "0\n");
    put(cooling + "max_state", "10\n");
    const int sensor = core % 48 + 2;
    if (cpu >= 96 || sensor < 10) return;  // the recording has the first eight
    const std::string chip = fmt::format("sys/class/hwmon/hwmon{}/temp{}_", package, sensor);
    put(chip + "label", fmt::format("Core {}\n", sensor - 2));
    put(chip + "input", "50000\n");
    put(chip + "max", "89000\n");
    put(chip + "crit", "99000\n");
    put(chip + "crit_alarm", "0\n");
  }

  std::string top_;
};

class LargeHostTest : public testing::Test {
 protected:
  // Of every collector; by collector in `by_source_`.
  std::size_t count_series(const CollectorOptions& options) {
    const LargeHost host;
    CollectorWorld world{.root = host.root(), .read_counters = {}, .options = options};
    auto collectors = make_collectors(world, {"ethtool"});  // would ask this machine's drivers
    EXPECT_TRUE(collectors) << collectors.error().message;
    FrameWriter writer(collectors->size(), 100'000);
    writer.begin_tick({}, {});
    for (std::size_t i = 0; i < collectors->size(); ++i) {
      writer.begin_source(static_cast<SourceIndex>(i), {});
      writer.end_source((*collectors)[i]->collect(writer));
    }
    const Frame& frame = writer.finish_tick();
    by_source_.clear();
    for (Slot slot = 0; slot < frame.table()->size(); ++slot) {
      const Series* series = frame.table()->at(slot);
      if (series != nullptr) ++by_source_[std::string((*collectors)[series->source]->name())];
    }
    PrometheusPage page(metric_catalogue(), {}, 100'000);
    std::string text;
    page.render(frame, PageFormat::text, {}, text);
    EXPECT_EQ(page.left_out(), 0U);
    return page.series();
  }
  std::map<std::string, std::size_t> by_source_;
};

TEST_F(LargeHostTest, ThePageHasNoMoreSeriesThanItsDocumentationSays) {
  const std::size_t series = count_series({});
  for (const auto& [name, count] : by_source_) fmt::print("{:>6} {}\n", count, name);
  fmt::print("{:>6} on the page\n", series);
  EXPECT_LE(series, kMostSeries);
  EXPECT_GE(by_source_["cpu"], kCpus * 10U) << "the host is as large as it should be";
  EXPECT_GE(by_source_["hwmon"], 2 * 49 * 5U);
  EXPECT_GE(by_source_["infiniband"], 9 * 24U);
}

}  // namespace
}  // namespace dynolog
