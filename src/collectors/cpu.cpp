// Collector `cpu`.
#include "collectors/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/file.h"
#include "kernel/proc_stat.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kTime = kCpuMetrics[0];
constexpr const MetricDescriptor& kGuestTime = kCpuMetrics[1];
constexpr const MetricDescriptor& kTimeAll = kCpuMetrics[2];
constexpr const MetricDescriptor& kGuestTimeAll = kCpuMetrics[3];
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
      : file_(root.proc + "/stat"), ticks_per_second_(static_cast<double>(ticks_per_second)) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    if (auto parsed = parse_proc_stat(*text, stat_); !parsed) return parsed;
    emit_all(out);
    emit_cpus(out);
    emit_host(out);
    return {};
  }

 private:
  struct Cpu {
    std::uint32_t number = 0;
    ModeHandles modes;
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
  }

  static Cpu open_cpu(const ProcStat::Cpu& online, Samples& out) {
    Cpu cpu{online.number, {}};
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
  static constexpr std::size_t kHostMetrics = kCpuMetrics.size() - kFirstHostMetric;
  static_assert(kCpuMetrics[kFirstHostMetric].id == "host.boot_time");
  static_assert(kCpuMetrics[kFirstHostMetric + 1].id == "host.context_switches");
  static_assert(kCpuMetrics[kFirstHostMetric + 2].id == "host.interrupts");
  static_assert(kCpuMetrics[kFirstHostMetric + 3].id == "host.forks");
  static_assert(kCpuMetrics[kFirstHostMetric + 4].id == "host.processes_running");
  static_assert(kCpuMetrics[kFirstHostMetric + 5].id == "host.processes_blocked");

  KeptFile file_;
  double ticks_per_second_;
  ProcStat stat_;
  ModeHandles all_;
  std::vector<Cpu> cpus_;  // in the file's order
  std::array<SeriesHandle, kHostMetrics> host_;
};

}  // namespace

std::unique_ptr<Collector> make_cpu_collector(const SystemRoot& root, long ticks_per_second) {
  return std::make_unique<CpuCollector>(root, ticks_per_second);
}

}  // namespace dynolog
