// Collector `schedstat`: /proc/schedstat, how long each CPU ran tasks and tasks waited for it.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kSchedstatMetrics = {
    MetricDescriptor{.id = "schedstat.running",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time that a CPU ran tasks",
                     .source = "/proc/schedstat",
                     .labels = {LabelKey{"cpu", "cpu.logical_number"}},
                     .prometheus = {.name = "node_schedstat_running_seconds_total"},
                     .otlp = {.name = "dynolog.schedstat.running"}},
    MetricDescriptor{.id = "schedstat.waiting",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time that tasks waited for a CPU, added up over them",
                     .source = "/proc/schedstat",
                     .labels = {LabelKey{"cpu", "cpu.logical_number"}},
                     .prometheus = {.name = "node_schedstat_waiting_seconds_total"},
                     .otlp = {.name = "dynolog.schedstat.waiting"}},
    MetricDescriptor{.id = "schedstat.timeslices",
                     .kind = MetricKind::counter,
                     .help = "How often a CPU began to run a task",
                     .source = "/proc/schedstat",
                     .labels = {LabelKey{"cpu", "cpu.logical_number"}},
                     .prometheus = {.name = "node_schedstat_timeslices_total"},
                     .otlp = {.name = "dynolog.schedstat.timeslices"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_schedstat_collector(const SystemRoot& root);

}  // namespace dynolog
