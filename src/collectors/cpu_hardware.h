// Collectors `cpufreq` and `cpuinfo`: clock frequencies, and what each CPU is and where it sits.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace cpu_hardware_metrics {

inline constexpr LabelKey kCpu{"cpu", "cpu.logical_number"};

constexpr MetricDescriptor frequency(std::string_view id, std::string_view help,
                                     std::string_view prometheus, std::string_view otlp,
                                     std::string_view json = "") {
  return {.id = id,
          .kind = MetricKind::gauge,
          .unit = Unit::hertz,
          .help = help,
          .source = "/sys/devices/system/cpu/cpu*/cpufreq",
          .labels = {kCpu},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {.name = json}};
}

inline constexpr std::array kInfoLabels = {LabelKey{"package", "dynolog.cpu.package"},
                                           LabelKey{"core", "dynolog.cpu.core"},
                                           kCpu,
                                           LabelKey{"vendor", "host.cpu.vendor.id"},
                                           LabelKey{"family", "host.cpu.family"},
                                           LabelKey{"model", "host.cpu.model.id"},
                                           LabelKey{"model_name", "host.cpu.model.name"},
                                           LabelKey{"microcode", "dynolog.cpu.microcode"},
                                           LabelKey{"stepping", "host.cpu.stepping"},
                                           LabelKey{"cachesize", "dynolog.cpu.cachesize"}};

}  // namespace cpu_hardware_metrics

inline constexpr std::array kCpufreqMetrics = [] {
  using cpu_hardware_metrics::frequency;
  return std::array{
      frequency("cpu.frequency", "Frequency that a CPU runs at, as its driver says",
                "node_cpu_scaling_frequency_hertz", "system.cpu.frequency", "cpu_hz.{cpu}"),
      frequency("cpu.frequency.lowest", "Lowest frequency that the policy allows a CPU",
                "node_cpu_scaling_frequency_min_hertz", "dynolog.cpu.frequency.lowest"),
      frequency("cpu.frequency.highest", "Highest frequency that the policy allows a CPU",
                "node_cpu_scaling_frequency_max_hertz", "dynolog.cpu.frequency.highest"),
      frequency("cpu.frequency.hardware", "Frequency that a CPU runs at, asked of the hardware",
                "node_cpu_frequency_hertz", "dynolog.cpu.frequency.hardware"),
      frequency("cpu.frequency.hardware_lowest", "Lowest frequency that a CPU can run at",
                "node_cpu_frequency_min_hertz", "dynolog.cpu.frequency.hardware_lowest"),
      frequency("cpu.frequency.hardware_highest", "Highest frequency that a CPU can run at",
                "node_cpu_frequency_max_hertz", "dynolog.cpu.frequency.hardware_highest"),
  };
}();

inline constexpr std::array kCpuinfoMetrics = {
    MetricDescriptor{.id = "cpu.info",
                     .kind = MetricKind::info,
                     .help = "What a CPU is, as labels; the value is 1",
                     .source = "/proc/cpuinfo",
                     .labels = LabelKeys(cpu_hardware_metrics::kInfoLabels),
                     .prometheus = {.name = "node_cpu_info"},
                     .otlp = {.name = "dynolog.cpu.info"}},
    MetricDescriptor{
        .id = "cpu.topology",
        .kind = MetricKind::info,
        .help = "Package, core and NUMA node of a CPU, as labels; the value is 1",
        .source = "/sys/devices/system/cpu, /sys/devices/system/node",
        .labels = {cpu_hardware_metrics::kCpu, LabelKey{"package", "dynolog.cpu.package"},
                   LabelKey{"core", "dynolog.cpu.core"}, LabelKey{"node", "dynolog.numa.node"}},
        .prometheus = {.name = "dynolog_cpu_topology_info"},
        .otlp = {.name = "dynolog.cpu.topology"}},
    MetricDescriptor{.id = "cpu.core_throttles",
                     .kind = MetricKind::counter,
                     .help = "How often a core was slowed down because it was hot",
                     .source = "/sys/devices/system/cpu/cpu*/thermal_throttle",
                     .labels = {LabelKey{"package", "dynolog.cpu.package"},
                                LabelKey{"core", "dynolog.cpu.core"}},
                     .prometheus = {.name = "node_cpu_core_throttles_total"},
                     .otlp = {.name = "dynolog.cpu.core_throttles"}},
    MetricDescriptor{.id = "cpu.package_throttles",
                     .kind = MetricKind::counter,
                     .help = "How often a package was slowed down because it was hot",
                     .source = "/sys/devices/system/cpu/cpu*/thermal_throttle",
                     .labels = {LabelKey{"package", "dynolog.cpu.package"}},
                     .prometheus = {.name = "node_cpu_package_throttles_total"},
                     .otlp = {.name = "dynolog.cpu.package_throttles"}},
    MetricDescriptor{.id = "cpu.online",
                     .kind = MetricKind::gauge,
                     .help = "Whether a CPU is online (1) or was taken offline (0)",
                     .source = "/sys/devices/system/cpu/cpu*/online",
                     .labels = {cpu_hardware_metrics::kCpu},
                     .prometheus = {.name = "node_cpu_online"},
                     .otlp = {.name = "dynolog.cpu.online"}},
    MetricDescriptor{.id = "cpu.isolated",
                     .kind = MetricKind::gauge,
                     .help = "1 for a CPU that the scheduler leaves alone (isolcpus)",
                     .source = "/sys/devices/system/cpu/isolated",
                     .labels = {cpu_hardware_metrics::kCpu},
                     .prometheus = {.name = "node_cpu_isolated"},
                     .otlp = {.name = "dynolog.cpu.isolated"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_cpufreq_collector(const SystemRoot& root);
[[nodiscard]] std::unique_ptr<Collector> make_cpuinfo_collector(const SystemRoot& root);

}  // namespace dynolog
