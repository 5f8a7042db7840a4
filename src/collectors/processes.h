// Collector `processes`: how many processes and threads the host has, by state.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kProcessesMetrics = {
    MetricDescriptor{.id = "processes.state",
                     .kind = MetricKind::gauge,
                     .help = "Processes by state: R running, S sleeping, D waiting for I/O, Z "
                             "ended and not asked after",
                     .source = "/proc/<pid>/stat",
                     .labels = {LabelKey{"state", "process.state"}},
                     .prometheus = {.name = "node_processes_state"},
                     .otlp = {.name = "system.process.count"},
                     .json = {.name = "processes.{state}"}},
    MetricDescriptor{.id = "processes.count",
                     .kind = MetricKind::gauge,
                     .help = "Processes",
                     .source = "/proc",
                     .prometheus = {.name = "node_processes_pids"},
                     .otlp = {.name = "dynolog.processes.count"},
                     .json = {.name = "processes"}},
    MetricDescriptor{.id = "processes.threads",
                     .kind = MetricKind::gauge,
                     .help = "Threads of all processes",
                     .source = "/proc/<pid>/stat",
                     .prometheus = {.name = "node_processes_threads"},
                     .otlp = {.name = "dynolog.processes.threads"}},
    MetricDescriptor{.id = "processes.limit",
                     .kind = MetricKind::gauge,
                     .help = "The largest process number",
                     .source = "/proc/sys/kernel/pid_max",
                     .prometheus = {.name = "node_processes_max_processes"},
                     .otlp = {.name = "dynolog.processes.limit"}},
    MetricDescriptor{.id = "processes.threads_limit",
                     .kind = MetricKind::gauge,
                     .help = "Threads that the host may have",
                     .source = "/proc/sys/kernel/threads-max",
                     .prometheus = {.name = "node_processes_max_threads"},
                     .otlp = {.name = "dynolog.processes.threads_limit"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_processes_collector(const SystemRoot& root);

}  // namespace dynolog
