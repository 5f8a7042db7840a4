// Collector `cpu`.
#include "collectors/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/number.h"
#include "kernel/cpu_list.h"
#include "kernel/proc_stat.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kTime = kCpuMetrics[0];
constexpr const MetricDescriptor& kGuestTime = kCpuMetrics[1];
constexpr const MetricDescriptor& kTimeAll = kCpuMetrics[2];
constexpr const MetricDescriptor& kGuestTimeAll = kCpuMetrics[3];
constexpr const MetricDescriptor& kSoftirqMetric = kCpuMetrics[10];
constexpr const MetricDescriptor& kNodeTime = kCpuMetrics[11];
static_assert(kSoftirqMetric.id == "host.softirqs" && kNodeTime.id == "cpu.time.node");
static_assert(kTime.id == "cpu.time" && kGuestTime.id == "cpu.guest_time");
static_assert(kTimeAll.id == "cpu.time.all" && kGuestTimeAll.id == "cpu.guest_time.all");

// In CpuMode's order; the guests' times are those of modes user and nice.
constexpr std::array<std::string_view, kCpuModes> kModeLabels = {
    "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "user", "nice"};
constexpr std::size_t kFirstGuestMode = static_cast<std::size_t>(CpuMode::guest);

using ModeHandles = std::array<SeriesHandle, kCpuModes>;

class CpuCollector final : public Collector {
 public:
  CpuCollector(const SystemRoot& root, long ticks_per_second)
      : file_(root.proc + "/stat", Records::one_piece),
        node_directory_(root.sys + "/devices/system/node"),
        node_files_(node_directory_.path()),
        ticks_per_second_(static_cast<double>(ticks_per_second)) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    if (auto parsed = parse_proc_stat(*text, stat_); !parsed) return parsed;
    emit_all(out);
    emit_cpus(out);
    emit_nodes(out);
    emit_host(out);
    emit_softirqs(out);
    return {};
  }

 private:
  static constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);
  struct Cpu {
    std::uint32_t number = 0;
    ModeHandles modes;
    std::size_t node = kNoNode;  // index in nodes_
  };
  struct Node {
    std::string number;
    std::array<std::uint64_t, kFirstGuestMode> ticks{};
    std::array<SeriesHandle, kFirstGuestMode> modes;
  };

  void emit_times(const CpuTimes& times, const ModeHandles& modes, Samples& out) const {
    for (std::size_t i = 0; i < times.count; ++i) {
      out.set(modes[i], static_cast<double>(times.ticks[i]) / ticks_per_second_);
    }
  }

  void emit_all(Samples& out) {
    for (std::size_t i = 0; i < stat_.total.count; ++i) {
      if (all_[i].valid()) continue;
      all_[i] = out.open(i < kFirstGuestMode ? kTimeAll : kGuestTimeAll, {kModeLabels[i]});
    }
    emit_times(stat_.total, all_, out);
  }

  void emit_cpus(Samples& out) {
    if (!same_cpus()) match_cpus(out);
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      emit_times(stat_.cpus[i].times, cpus_[i].modes, out);
    }
  }

  [[nodiscard]] bool same_cpus() const {
    if (cpus_.size() != stat_.cpus.size()) return false;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      if (cpus_[i].number != stat_.cpus[i].number) return false;
    }
    return true;
  }

  // CPUs went offline or came online: their series close and open.
  void match_cpus(Samples& out) {
    std::vector<Cpu> matched;
    matched.reserve(stat_.cpus.size());
    for (const ProcStat::Cpu& online : stat_.cpus) {
      const auto known = std::ranges::find(cpus_, online.number, &Cpu::number);
      if (known != cpus_.end()) {
        matched.push_back(*known);
        cpus_.erase(known);
      } else {
        matched.push_back(open_cpu(online, out));
      }
    }
    for (Cpu& gone : cpus_) {
      for (SeriesHandle& handle : gone.modes) out.close(handle);
    }
    cpus_ = std::move(matched);
    match_nodes(out);
  }

  // Sums over other CPUs than before are no increase of what they were: the series begin anew.
  void match_nodes(Samples& out) {
    for (Node& node : nodes_) {
      for (SeriesHandle& handle : node.modes) out.close(handle);
    }
    nodes_.clear();
    for (Cpu& cpu : cpus_) cpu.node = kNoNode;
    if (!node_directory_.rewind()) return;  // a kernel without NUMA
    constexpr std::string_view kPrefix = "node";
    while (const char* name = node_directory_.next()) {
      const std::string_view text(name);
      if (!text.starts_with(kPrefix)) continue;
      const std::string_view number = text.substr(kPrefix.size());
      if (!parse_number<std::uint32_t>(number)) continue;
      const auto list = node_files_.read({text, "cpulist"});
      if (list && !list->empty()) add_node(number, *list, out);
    }
  }

  void add_node(std::string_view number, std::string_view cpu_list, Samples& out) {
    const std::size_t index = nodes_.size();
    bool any = false;
    for_each_in_cpu_list(cpu_list, [&](std::uint32_t cpu) {
      const auto known = std::ranges::find(cpus_, cpu, &Cpu::number);
      if (known == cpus_.end()) return;
      known->node = index;
      any = true;
    });
    if (!any) return;
    Node& node = nodes_.emplace_back(Node{std::string(number), {}, {}});
    for (std::size_t i = 0; i < std::min(stat_.total.count, kFirstGuestMode); ++i) {
      node.modes[i] = out.open(kNodeTime, {node.number, kModeLabels[i]});
    }
  }

  void emit_nodes(Samples& out) {
    if (nodes_.empty()) return;
    for (Node& node : nodes_) node.ticks.fill(0);
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      if (cpus_[i].node == kNoNode) continue;
      Node& node = nodes_[cpus_[i].node];
      for (std::size_t mode = 0; mode < kFirstGuestMode; ++mode) {
        node.ticks[mode] += stat_.cpus[i].times.ticks[mode];
      }
    }
    for (const Node& node : nodes_) {
      for (std::size_t i = 0; i < kFirstGuestMode; ++i) {
        if (!node.modes[i].valid()) continue;
        out.set(node.modes[i], static_cast<double>(node.ticks[i]) / ticks_per_second_);
      }
    }
  }

  void emit_softirqs(Samples& out) {
    for (std::size_t i = 0; i < kSoftirqs.size(); ++i) {
      if (!stat_.softirqs[i]) continue;  // an older kernel has fewer
      if (!softirqs_[i].valid()) softirqs_[i] = out.open(kSoftirqMetric, {kSoftirqs[i]});
      out.set(softirqs_[i], static_cast<double>(*stat_.softirqs[i]));
    }
  }

  static Cpu open_cpu(const ProcStat::Cpu& online, Samples& out) {
    Cpu cpu{.number = online.number, .modes = {}};
    const std::string number = fmt::to_string(online.number);
    for (std::size_t i = 0; i < online.times.count; ++i) {
      cpu.modes[i] = out.open(i < kFirstGuestMode ? kTime : kGuestTime, {number, kModeLabels[i]});
    }
    return cpu;
  }

  void emit_host(Samples& out) {
    const std::array<std::optional<std::uint64_t>, kHostMetrics> values = {
        stat_.boot_time_s, stat_.context_switches, stat_.interrupts,
        stat_.forks,       stat_.running,          stat_.blocked};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!host_[i].valid()) host_[i] = out.open(kCpuMetrics[kFirstHostMetric + i], {});
      if (values[i]) out.set(host_[i], static_cast<double>(*values[i]));
    }
  }

  static constexpr std::size_t kFirstHostMetric = 4;
  static constexpr std::size_t kHostMetrics = 6;
  static_assert(kCpuMetrics[kFirstHostMetric].id == "host.boot_time");
  static_assert(kCpuMetrics[kFirstHostMetric + 1].id == "host.context_switches");
  static_assert(kCpuMetrics[kFirstHostMetric + 2].id == "host.interrupts");
  static_assert(kCpuMetrics[kFirstHostMetric + 3].id == "host.forks");
  static_assert(kCpuMetrics[kFirstHostMetric + 4].id == "host.processes_running");
  static_assert(kCpuMetrics[kFirstHostMetric + 5].id == "host.processes_blocked");

  KeptFile file_;
  KeptDirectory node_directory_;
  AttributeReader node_files_;
  double ticks_per_second_;
  ProcStat stat_;
  ModeHandles all_;
  std::vector<Cpu> cpus_;  // in the file's order
  std::array<SeriesHandle, kHostMetrics> host_;
  std::array<SeriesHandle, kSoftirqs.size()> softirqs_;
  std::vector<Node> nodes_;
};

}  // namespace

std::unique_ptr<Collector> make_cpu_collector(const SystemRoot& root, long ticks_per_second) {
  return std::make_unique<CpuCollector>(root, ticks_per_second);
}

}  // namespace dynolog
