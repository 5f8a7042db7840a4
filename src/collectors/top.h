// Collector `top`: the processes of the host that use most CPU, memory and IO. For the history and
// `dyno top`; pids are labels here, so no page and no other sink has it.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace top_metrics {

inline constexpr LabelKey kPid{"pid", "process.pid"};
inline constexpr LabelKey kCommand{"command", "process.command"};
inline constexpr LabelKey kUid{"uid", "process.user.id"};

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, std::string_view source,
                                  LabelKeys labels = {kPid, kCommand, kUid}) {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = source,
          .labels = labels,
          .counter = {},
          .prometheus = {},
          .otlp = {},
          .json = {}};
}

}  // namespace top_metrics

inline constexpr std::array kTopMetrics = {
    top_metrics::metric("process.cpu_time", MetricKind::counter, Unit::seconds,
                        "CPU time of a process, by mode", "/proc/<pid>/stat",
                        {top_metrics::kPid, top_metrics::kCommand, top_metrics::kUid,
                         LabelKey{"mode", "cpu.mode"}}),
    top_metrics::metric("process.resident_memory", MetricKind::gauge, Unit::bytes,
                        "Memory of a process that is resident", "/proc/<pid>/stat"),
    top_metrics::metric("process.threads", MetricKind::gauge, Unit::none, "Threads of a process",
                        "/proc/<pid>/stat"),
    top_metrics::metric("process.disk_io", MetricKind::counter, Unit::bytes,
                        "Bytes that a process had read from storage and written to it",
                        "/proc/<pid>/io",
                        {top_metrics::kPid, top_metrics::kCommand, top_metrics::kUid,
                         LabelKey{"direction", "disk.io.direction"}}),
};

// `somebody_looks` is asked at each tick, from the pipeline's thread: while it says so, the host is
// looked through at each tick, and else at the tier's pace. May be empty.
[[nodiscard]] std::unique_ptr<Collector> make_top_collector(const SystemRoot& root,
                                                            const CollectorOptions::Top& options,
                                                            std::function<bool()> somebody_looks,
                                                            long page_size, long ticks_per_second);

}  // namespace dynolog
