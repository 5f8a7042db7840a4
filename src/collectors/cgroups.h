// Collector `cgroups`: CPU, memory, IO, pressure, tasks and limits of control groups that matter:
// jobs of Slurm with their steps and tasks, pods of Kubernetes, and slices of a list.
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace cgroup_metrics {

inline constexpr LabelKey kCgroup{"cgroup", "dynolog.cgroup"};
inline constexpr std::string_view kSource = "/sys/fs/cgroup";
inline constexpr std::array kInfoLabels = {kCgroup,
                                           LabelKey{"kind", "dynolog.cgroup.kind"},
                                           LabelKey{"job_id", "dynolog.job.id"},
                                           LabelKey{"step", "dynolog.job.step"},
                                           LabelKey{"task", "dynolog.job.task"},
                                           LabelKey{"pod_uid", "k8s.pod.uid"}};

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, std::string_view prometheus,
                                  std::string_view otlp, LabelKeys labels = {kCgroup}) {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = kSource,
          .labels = labels,
          .counter = {},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {}};
}

}  // namespace cgroup_metrics

inline constexpr std::array kCgroupsMetrics = {
    cgroup_metrics::metric("cgroup.info", MetricKind::info, Unit::none,
                           "What a control group is for; always 1", "dynolog_cgroup_info",
                           "dynolog.cgroup.info",
                           LabelKeys(std::span<const LabelKey>(cgroup_metrics::kInfoLabels))),
    cgroup_metrics::metric("cgroup.cpu_time", MetricKind::counter, Unit::seconds,
                           "CPU time of a control group, by mode",
                           "dynolog_cgroup_cpu_seconds_total", "dynolog.cgroup.cpu.time",
                           {cgroup_metrics::kCgroup, LabelKey{"mode", "cpu.mode"}}),
    cgroup_metrics::metric("cgroup.cpu_throttled_time", MetricKind::counter, Unit::seconds,
                           "Time that a control group was kept from running by its CPU limit",
                           "dynolog_cgroup_cpu_throttled_seconds_total",
                           "dynolog.cgroup.cpu.throttled_time"),
    cgroup_metrics::metric("cgroup.cpu_periods", MetricKind::counter, Unit::none,
                           "Periods of the CPU limit in which a control group ran",
                           "dynolog_cgroup_cpu_periods_total", "dynolog.cgroup.cpu.periods"),
    cgroup_metrics::metric("cgroup.cpu_throttled_periods", MetricKind::counter, Unit::none,
                           "Periods in which a control group used up its CPU limit",
                           "dynolog_cgroup_cpu_throttled_periods_total",
                           "dynolog.cgroup.cpu.throttled_periods"),
    cgroup_metrics::metric("cgroup.cpu_limit", MetricKind::gauge, Unit::none,
                           "CPUs that a control group may use; absent without a limit",
                           "dynolog_cgroup_cpu_limit_cpus", "dynolog.cgroup.cpu.limit"),
    cgroup_metrics::metric("cgroup.memory", MetricKind::gauge, Unit::bytes,
                           "Memory of a control group, page cache included",
                           "dynolog_cgroup_memory_bytes", "dynolog.cgroup.memory.usage"),
    cgroup_metrics::metric("cgroup.memory_anonymous", MetricKind::gauge, Unit::bytes,
                           "Memory of a control group that is no page cache",
                           "dynolog_cgroup_memory_anonymous_bytes",
                           "dynolog.cgroup.memory.anonymous"),
    cgroup_metrics::metric("cgroup.memory_cache", MetricKind::gauge, Unit::bytes,
                           "Page cache of a control group", "dynolog_cgroup_memory_cache_bytes",
                           "dynolog.cgroup.memory.cache"),
    cgroup_metrics::metric("cgroup.memory_peak", MetricKind::gauge, Unit::bytes,
                           "Most memory that a control group has had",
                           "dynolog_cgroup_memory_peak_bytes", "dynolog.cgroup.memory.peak"),
    cgroup_metrics::metric("cgroup.memory_limit", MetricKind::gauge, Unit::bytes,
                           "Memory that a control group may have; absent without a limit",
                           "dynolog_cgroup_memory_limit_bytes", "dynolog.cgroup.memory.limit"),
    cgroup_metrics::metric("cgroup.swap", MetricKind::gauge, Unit::bytes,
                           "Swap space of a control group", "dynolog_cgroup_swap_bytes",
                           "dynolog.cgroup.swap.usage"),
    cgroup_metrics::metric("cgroup.memory_events", MetricKind::counter, Unit::none,
                           "How often a control group met a limit of memory, or was killed for it",
                           "dynolog_cgroup_memory_events_total", "dynolog.cgroup.memory.events",
                           {cgroup_metrics::kCgroup, LabelKey{"event", "dynolog.event"}}),
    cgroup_metrics::metric("cgroup.io", MetricKind::counter, Unit::bytes,
                           "Bytes that a control group read from disks and wrote to them",
                           "dynolog_cgroup_io_bytes_total", "dynolog.cgroup.disk.io",
                           {cgroup_metrics::kCgroup, LabelKey{"direction", "disk.io.direction"}}),
    cgroup_metrics::metric("cgroup.io_operations", MetricKind::counter, Unit::operations,
                           "Reads and writes of a control group that reached disks",
                           "dynolog_cgroup_io_operations_total", "dynolog.cgroup.disk.operations",
                           {cgroup_metrics::kCgroup, LabelKey{"direction", "disk.io.direction"}}),
    cgroup_metrics::metric(
        "cgroup.pressure", MetricKind::counter, Unit::seconds,
        "Time that some (waiting) or all (stalled) tasks of a control group waited for a resource",
        "dynolog_cgroup_pressure_seconds_total", "dynolog.cgroup.pressure",
        {cgroup_metrics::kCgroup, LabelKey{"resource", "dynolog.resource"},
         LabelKey{"kind", "dynolog.pressure.kind"}}),
    cgroup_metrics::metric("cgroup.tasks", MetricKind::gauge, Unit::none,
                           "Processes and threads of a control group", "dynolog_cgroup_tasks",
                           "dynolog.cgroup.tasks"),
    cgroup_metrics::metric("cgroup.tasks_limit", MetricKind::gauge, Unit::none,
                           "Processes and threads that a control group may have; absent without a "
                           "limit",
                           "dynolog_cgroup_tasks_limit", "dynolog.cgroup.tasks_limit"),
};

// "slurm/7/0/3", "pod/UID", "slice/system.slice": a control group in labels. Of a job's step:
[[nodiscard]] std::string slurm_cgroup_name(std::string_view job, std::string_view step);

[[nodiscard]] std::unique_ptr<Collector> make_cgroups_collector(
    const SystemRoot& root, const CollectorOptions::Cgroups& options, long ticks_per_second);

}  // namespace dynolog
