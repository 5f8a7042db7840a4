// Collector `vmstat`: /proc/vmstat, the fields that the options choose.
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kVmstatMetrics = {
    MetricDescriptor{.id = "vmstat.event",
                     .kind = MetricKind::counter,
                     .help = "Events of the kernel's memory management, by its own names",
                     .source = "/proc/vmstat",
                     .labels = {LabelKey{"field", "dynolog.vmstat.field"}},
                     .prometheus = {.name = "node_vmstat_{field}", .type_override = "untyped"},
                     .otlp = {.name = "dynolog.vmstat.event"},
                     .json = {.name = "vmstat.{field}"}},
    // The kernel's names of these begin with nr_.
    MetricDescriptor{.id = "vmstat.pages",
                     .kind = MetricKind::gauge,
                     .help = "Pages by use, by the kernel's own names without their nr_",
                     .source = "/proc/vmstat",
                     .labels = {LabelKey{"field", "dynolog.vmstat.field"}},
                     .prometheus = {.name = "node_vmstat_nr_{field}", .type_override = "untyped"},
                     .otlp = {.name = "dynolog.vmstat.pages"},
                     .json = {.name = "vmstat_nr.{field}"}},
};

// An error of kind invalid when the options' expression is none.
[[nodiscard]] Result<std::unique_ptr<Collector>> make_vmstat_collector(
    const SystemRoot& root, const CollectorOptions::Vmstat& options);

}  // namespace dynolog
