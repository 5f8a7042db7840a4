// Collector `jobs`: the ranks of PyTorch jobs on this host, and what each of them uses.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/system_root.h"
#include "collectors/asked.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"
#include "processes/rank_facts.h"

namespace dynolog {

namespace job_metrics {

// A small number of this host, taken again when its process has ended: labels have no pid.
inline constexpr LabelKey kProcess{"process", "dynolog.process"};
inline constexpr std::array kInfoLabels = {kProcess,
                                           LabelKey{"job_id", "dynolog.job.id"},
                                           LabelKey{"scheduler", "dynolog.job.scheduler"},
                                           LabelKey{"step", "dynolog.job.step"},
                                           LabelKey{"rank", "dynolog.job.rank"},
                                           LabelKey{"local_rank", "dynolog.job.local_rank"},
                                           LabelKey{"world_size", "dynolog.job.world_size"},
                                           LabelKey{"gpu", "dynolog.job.gpu"},
                                           LabelKey{"cgroup", "dynolog.cgroup"},
                                           LabelKey{"user", "user.name"}};

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, std::string_view source,
                                  std::string_view prometheus, std::string_view otlp,
                                  LabelKeys labels = {kProcess}) {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = source,
          .labels = labels,
          .counter = {},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {}};
}

}  // namespace job_metrics

inline constexpr std::array kJobsMetrics = {
    job_metrics::metric("job.info", MetricKind::info, Unit::none,
                        "A rank of a job on this host; always 1. Other series are joined by its "
                        "labels",
                        "the job's environment and control group", "dynolog_job_info",
                        "dynolog.job.info",
                        LabelKeys(std::span<const LabelKey>(job_metrics::kInfoLabels))),
    job_metrics::metric("job.process.cpu_time", MetricKind::counter, Unit::seconds,
                        "CPU time of a rank, by mode", "/proc/<pid>/stat",
                        "dynolog_process_cpu_seconds_total", "dynolog.job.process.cpu.time",
                        {job_metrics::kProcess, LabelKey{"mode", "cpu.mode"}}),
    job_metrics::metric("job.process.resident_memory", MetricKind::gauge, Unit::bytes,
                        "Memory of a rank that is resident", "/proc/<pid>/stat",
                        "dynolog_process_resident_memory_bytes",
                        "dynolog.job.process.memory.usage"),
    job_metrics::metric("job.process.virtual_memory", MetricKind::gauge, Unit::bytes,
                        "Address space of a rank", "/proc/<pid>/stat",
                        "dynolog_process_virtual_memory_bytes",
                        "dynolog.job.process.memory.virtual"),
    job_metrics::metric("job.process.threads", MetricKind::gauge, Unit::none, "Threads of a rank",
                        "/proc/<pid>/stat", "dynolog_process_threads",
                        "dynolog.job.process.thread.count"),
    job_metrics::metric("job.process.page_faults", MetricKind::counter, Unit::none,
                        "Page faults of a rank; major ones wait for storage", "/proc/<pid>/stat",
                        "dynolog_process_page_faults_total", "dynolog.job.process.paging.faults",
                        {job_metrics::kProcess, LabelKey{"kind", "process.paging.fault_type"}}),
    job_metrics::metric("job.process.context_switches", MetricKind::counter, Unit::none,
                        "Context switches of a rank's main thread", "/proc/<pid>/status",
                        "dynolog_process_context_switches_total",
                        "dynolog.job.process.context_switches",
                        {job_metrics::kProcess, LabelKey{"kind", "process.context_switch.type"}}),
    job_metrics::metric("job.process.disk_io", MetricKind::counter, Unit::bytes,
                        "Bytes that a rank had read from storage and written to it",
                        "/proc/<pid>/io", "dynolog_process_disk_bytes_total",
                        "dynolog.job.process.disk.io",
                        {job_metrics::kProcess, LabelKey{"direction", "disk.io.direction"}}),
    job_metrics::metric("job.process.io", MetricKind::counter, Unit::bytes,
                        "Bytes that a rank read and wrote, from and to anything", "/proc/<pid>/io",
                        "dynolog_process_io_bytes_total", "dynolog.job.process.io",
                        {job_metrics::kProcess, LabelKey{"direction", "disk.io.direction"}}),
    job_metrics::metric("job.process.state", MetricKind::gauge, Unit::none,
                        "Whether a rank's main thread is in a state (1), when it is looked at",
                        "/proc/<pid>/stat", "dynolog_process_state", "dynolog.job.process.state",
                        {job_metrics::kProcess, LabelKey{"state", "process.state"}}),
    job_metrics::metric("job.process.start_time", MetricKind::gauge, Unit::seconds,
                        "When a rank's process was started, in seconds since the epoch",
                        "/proc/<pid>/stat", "dynolog_process_start_time_seconds",
                        "dynolog.job.process.start_time"),
};

using AskedRanks = Asked<std::vector<RankFacts>>;

// Without `asked` there are no ranks.
[[nodiscard]] std::unique_ptr<Collector> make_jobs_collector(const SystemRoot& root,
                                                             std::shared_ptr<AskedRanks> asked,
                                                             long page_size, long ticks_per_second);

}  // namespace dynolog
