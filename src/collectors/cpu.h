// Collector `cpu`: /proc/stat. CPU time by mode, of each CPU and of all, and the host's counters.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

// Idle and iowait time go back a little now and then: the kernel says so itself (proc(5)).
inline constexpr CounterTraits kCpuTimeCounter{.bits = 0, .backward_slack = 3};

// Time of guests is contained in user and nice time, so it has metrics of its own: a sum over the
// modes of one metric counts nothing twice. Likewise the sum over all CPUs is no label of the
// others.
inline constexpr std::array kCpuMetrics = {
    MetricDescriptor{
        .id = "cpu.time",
        .kind = MetricKind::counter,
        .unit = Unit::seconds,
        .help = "Time of one CPU by mode; user and nice contain guests' time",
        .source = "/proc/stat",
        .labels = {LabelKey{"cpu", "cpu.logical_number"}, LabelKey{"mode", "cpu.mode"}},
        .counter = kCpuTimeCounter,
        .prometheus = {.name = "node_cpu_seconds_total"}},
    MetricDescriptor{
        .id = "cpu.guest_time",
        .kind = MetricKind::counter,
        .unit = Unit::seconds,
        .help = "Time of one CPU in guests, by mode; contained in cpu.time",
        .source = "/proc/stat",
        .labels = {LabelKey{"cpu", "cpu.logical_number"}, LabelKey{"mode", "cpu.mode"}},
        .counter = kCpuTimeCounter,
        .prometheus = {.name = "node_cpu_guest_seconds_total"}},
    MetricDescriptor{
        .id = "cpu.time.all",
        .kind = MetricKind::counter,
        .unit = Unit::seconds,
        .help = "Time of all CPUs together by mode; user and nice contain guests' time",
        .source = "/proc/stat",
        .labels = {LabelKey{"mode", "cpu.mode"}},
        .counter = kCpuTimeCounter,
        .otlp = {.name = "system.cpu.time"}},
    MetricDescriptor{.id = "cpu.guest_time.all",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time of all CPUs in guests, by mode; contained in cpu.time.all",
                     .source = "/proc/stat",
                     .labels = {LabelKey{"mode", "cpu.mode"}},
                     .counter = kCpuTimeCounter,
                     .otlp = {.name = "dynolog.cpu.guest_time"}},
    MetricDescriptor{.id = "host.boot_time",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "When the host was booted, in seconds since the epoch",
                     .source = "/proc/stat",
                     .prometheus = {.name = "node_boot_time_seconds"},
                     .otlp = {.name = "dynolog.host.boot_time"},
                     .newest_only = true},
    MetricDescriptor{.id = "host.context_switches",
                     .kind = MetricKind::counter,
                     .help = "Context switches of all CPUs",
                     .source = "/proc/stat",
                     .prometheus = {.name = "node_context_switches_total"},
                     .otlp = {.name = "dynolog.host.context_switches"},
                     .json = {.name = "context_switches"}},
    MetricDescriptor{.id = "host.interrupts",
                     .kind = MetricKind::counter,
                     .help = "Interrupts served",
                     .source = "/proc/stat",
                     .prometheus = {.name = "node_intr_total"},
                     .otlp = {.name = "dynolog.host.interrupts"},
                     .json = {.name = "interrupts"}},
    MetricDescriptor{.id = "host.forks",
                     .kind = MetricKind::counter,
                     .help = "Processes and threads created",
                     .source = "/proc/stat",
                     .prometheus = {.name = "node_forks_total"},
                     .otlp = {.name = "system.process.created"},
                     .json = {.name = "forks"}},
    MetricDescriptor{.id = "host.processes_running",
                     .kind = MetricKind::gauge,
                     .help = "Threads that run or could run",
                     .source = "/proc/stat",
                     .prometheus = {.name = "node_procs_running"},
                     .otlp = {.name = "dynolog.host.processes_running"},
                     .json = {.name = "procs_running"}},
    MetricDescriptor{.id = "host.processes_blocked",
                     .kind = MetricKind::gauge,
                     .help = "Threads that wait for I/O",
                     .source = "/proc/stat",
                     .prometheus = {.name = "node_procs_blocked"},
                     .otlp = {.name = "dynolog.host.processes_blocked"},
                     .json = {.name = "procs_blocked"}},
    MetricDescriptor{.id = "host.softirqs",
                     .kind = MetricKind::counter,
                     .help = "Soft interrupts of all CPUs by kind",
                     .source = "/proc/stat",
                     .labels = {LabelKey{"vector", "dynolog.softirq"}},
                     .counter = {.bits = 32},  // the kernel's sums over the CPUs
                     .prometheus = {.name = "node_softirqs_total"},
                     .otlp = {.name = "dynolog.host.softirqs"},
                     .json = {.name = "softirqs.{vector}"}},
    // A label of each CPU's series would tell nothing new, and be one more for all of them.
    MetricDescriptor{
        .id = "cpu.time.node",
        .kind = MetricKind::counter,
        .unit = Unit::seconds,
        .help = "Time of the CPUs of one NUMA node by mode",
        .source = "/proc/stat, /sys/devices/system/node",
        .labels = {LabelKey{"node", "dynolog.numa.node"}, LabelKey{"mode", "cpu.mode"}},
        .counter = kCpuTimeCounter,
        .prometheus = {.name = "dynolog_cpu_node_seconds_total"},
        .otlp = {.name = "dynolog.cpu.time.node"}},
};

// `ticks_per_second`: sysconf(_SC_CLK_TCK).
[[nodiscard]] std::unique_ptr<Collector> make_cpu_collector(const SystemRoot& root,
                                                            long ticks_per_second);

}  // namespace dynolog
