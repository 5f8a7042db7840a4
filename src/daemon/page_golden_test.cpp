// The whole way from a recorded /proc to a page for Prometheus, compared with tests/golden/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/file.h"
#include "collectors/all_collectors.h"
#include "daemon/answered.h"
#include "metrics/sampler.h"
#include "sinks/prometheus_page.h"
#include "testing/capturing_log.h"
#include "testing/fake_clock.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

// Collectors that ask the running kernel by system calls: no recording of theirs.
constexpr std::array<std::string_view, 5> kOfThisMachine = {"self", "ethtool", "timex", "tcpstat",
                                                            "time"};

// What the large host's page is compared in: collectors of devices. Its CPUs would be thousands of
// lines of one kind.
const std::vector<std::string> kOfDevices = {
    "bonding",          "conntrack",     "cpufreq",   "cpuinfo",      "edac",       "hwmon",
    "infiniband",       "infiniband_hw", "mdadm",     "meminfo_numa", "mountstats", "netclass",
    "netdev",           "nfs",           "nfsd",      "nvme",         "rapl",       "selinux",
    "powersupplyclass", "thermal_zone",  "udp_queues"};

// Keeps the frame that it was given last.
class KeepingSink final : public Sink {
 public:
  explicit KeepingSink(Frame& kept) : kept_(kept) {}
  [[nodiscard]] std::string_view name() const override { return "kept"; }
  [[nodiscard]] Status consume(const Frame& frame) override {
    kept_ = frame;
    return {};
  }
  [[nodiscard]] Status consume(const Event&) override { return {}; }

 private:
  Frame& kept_;
};

std::vector<std::string> recorded_collectors() {
  std::vector<std::string> names;
  for (const CatalogueSection& section : metric_catalogue()) {
    if (std::ranges::find(kOfThisMachine, section.name) == kOfThisMachine.end()) {
      names.emplace_back(section.name);
    }
  }
  return names;
}

std::vector<MountUsage> made_mounts() {
  constexpr std::uint64_t kGiB = 1U << 30U;
  const auto mount = [](std::string device, std::string point, std::string type, bool read_only) {
    return Mount{.id = 0,
                 .parent = 0,
                 .device = std::move(device),
                 .mount_point = std::move(point),
                 .type = std::move(type),
                 .read_only = read_only};
  };
  return {{.mount = mount("/dev/vda", "/", "ext4", false),
           .state = MountState::read,
           .room = {.size = 100 * kGiB,
                    .free = 40 * kGiB,
                    .available = 35 * kGiB,
                    .files = 6'500'000,
                    .files_free = 6'000'000},
           .problem = {}},
          {.mount = mount("server:/data", "/my \"data\"", "nfs4", true),
           .state = MountState::hangs,
           .room = {},
           .problem = {}}};
}

std::vector<TextFile> made_text_files() {
  return {{.path = "/texts/a.prom",
           .modified_s = 1'767'225'000,
           .text = "# HELP reboot_needed Whether a reboot is due\nreboot_needed 1\n"
                   "# TYPE probe_seconds histogram\nprobe_seconds_bucket{le=\"0.5\"} 3\n"
                   "probe_seconds_bucket{le=\"+Inf\"} 4\nprobe_seconds_sum 2.5\n"
                   "probe_seconds_count 4\n",
           .problem = {}}};
}

// The recorded host has this process.
std::vector<RankFacts> made_ranks() {
  RankFacts rank;
  rank.key = {Pid{4711}, 73100};
  rank.job = "812";
  rank.scheduler = "slurm";
  rank.step = "0";
  rank.rank = "1";
  rank.local_rank = "1";
  rank.world_size = "2";
  rank.gpu = "1";
  return {rank};
}

std::string page_of_host(const std::string& host, const std::vector<std::string>& shown) {
  const std::string fixture = std::string(DYNOLOG_HOSTS_DIR) + "/" + host;
  FakeClock clock;
  CapturingLog log;
  CollectorWorld world;
  world.root = {.proc = fixture + "/proc",
                .sys = fixture + "/sys",
                .dev = fixture + "/dev",
                .etc = fixture + "/etc"};
  world.file_systems = std::make_shared<Answered<std::vector<MountUsage>>>(made_mounts());
  world.text_files = std::make_shared<Answered<std::vector<TextFile>>>(made_text_files());
  world.ranks = std::make_shared<Answered<std::vector<RankFacts>>>(made_ranks());
  auto collectors = make_collectors(world, {});
  if (!collectors) return collectors.error().message;
  Frame frame;
  std::vector<std::unique_ptr<Sink>> sinks;
  sinks.push_back(std::make_unique<KeepingSink>(frame));
  Sampler sampler(PipelineOptions{}, std::move(*collectors), std::move(sinks), clock, log);
  sampler.tick(0, 0);
  PrometheusPage page(metric_catalogue(), {}, 100'000);
  std::string text;
  page.render(frame, PageFormat::text, {.only = shown}, text);
  return text;
}

// ./scripts/refresh-goldens writes what this compares.
void compare(const std::string& page, const std::string& file) {
  const std::string path = std::string(DYNOLOG_SOURCE_DIR) + "/tests/golden/" + file;
  if (std::getenv("DYNOLOG_REFRESH_GOLDENS") != nullptr) {
    ASSERT_TRUE(replace_file(path, page, 0644));
    return;
  }
  const auto golden = read_file(path, 1U << 24U);
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_TRUE(page == *golden) << path << " is stale: run ./scripts/refresh-goldens and look at "
                               << "the difference";
}

TEST(PageGolden, OfARecordedHost) {
  const std::string page = page_of_host("vm-2cpu", recorded_collectors());
  EXPECT_GT(std::ranges::count(page, '\n'), 60);
  compare(page, "vm-2cpu.prom");
}

// tests/e2e/test_recorded_pages.py compares this page with node_exporter's of the same files.
TEST(PageGolden, OfALargeHostsDevices) {
  const std::string page = page_of_host("numa-192cpu", kOfDevices);
  EXPECT_GT(std::ranges::count(page, '\n'), 600);
  compare(page, "numa-192cpu-devices.prom");
}

}  // namespace
}  // namespace dynolog
