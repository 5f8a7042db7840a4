// How many series the page has on a large host: 192 CPUs in two sockets, eight InfiniBand ports,
// eight drives, and a job of eight ranks. docs/prometheus.md says the number; this holds the daemon
// to it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "collectors/all_collectors.h"
#include "daemon/answered.h"
#include "metrics/frame_writer.h"
#include "sinks/prometheus_page.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

constexpr int kCpus = 192;
constexpr int kRanks = 8;
constexpr int kMounts = 10;
constexpr std::size_t kMostSeries = 9'500;

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
    // A job of Slurm's, with a step and a process for each of its ranks.
    fs::copy(hosts / "slurm-cgroup2/sys", top_ + "/sys", kHow);
    const fs::path job = top_ + "/sys/fs/cgroup/system.slice/node1_slurmstepd.scope/job_4711";
    for (int rank = 1; rank < kRanks; ++rank) {
      fs::copy(job / "step_0", job / fmt::format("step_{}", rank), kHow);
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      fs::copy(hosts / "vm-2cpu/proc/4711", top_ + fmt::format("/proc/{}", pid_of(rank)), kHow);
    }
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
  [[nodiscard]] static int pid_of(int rank) { return 47'110 + rank; }

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

std::vector<RankFacts> ranks_of_the_job() {
  std::vector<RankFacts> ranks;
  for (int number = 0; number < kRanks; ++number) {
    RankFacts rank;
    rank.key = {Pid{LargeHost::pid_of(number)}, 73100};  // when the recorded process began
    rank.job = "4711";
    rank.scheduler = "slurm";
    rank.step = rank.rank = rank.local_rank = rank.gpu = fmt::to_string(number);
    rank.world_size = "8";
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::vector<MountUsage> mounts_of_the_host() {
  std::vector<MountUsage> mounts;
  for (int number = 0; number < kMounts; ++number) {
    MountUsage usage;
    usage.mount.device = fmt::format("/dev/nvme{}n1", number);
    usage.mount.mount_point = fmt::format("/data{}", number);
    usage.mount.type = "ext4";
    usage.state = MountState::read;
    usage.room.size = usage.room.files = 1U << 30U;
    mounts.push_back(std::move(usage));
  }
  return mounts;
}

class LargeHostTest : public testing::Test {
 protected:
  // Of every collector; by collector in `by_source_`.
  std::size_t count_series(const CollectorOptions& options) {
    const LargeHost host;
    CollectorWorld world{.root = host.root(), .read_counters = {}, .options = options};
    world.ranks = std::make_shared<Answered<std::vector<RankFacts>>>(ranks_of_the_job());
    world.file_systems = std::make_shared<Answered<std::vector<MountUsage>>>(mounts_of_the_host());
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
  EXPECT_GE(by_source_["jobs"], kRanks * 15U);
  EXPECT_GE(by_source_["cgroups"], (kRanks + 1) * 20U);
  EXPECT_GE(by_source_["filesystem"], kMounts * 6U);
}

}  // namespace
}  // namespace dynolog
