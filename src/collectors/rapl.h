// Collector `rapl`: /sys/class/powercap. Energy that packages, cores and memory have used.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

// The kernel's counter begins anew after minutes of load; this one goes on from there.
inline constexpr std::array kRaplMetrics = {
    MetricDescriptor{
        .id = "rapl.energy",
        .kind = MetricKind::counter,
        .unit = Unit::joules,
        .help = "Energy that a zone (package, core, dram, ...) has used",
        .source = "/sys/class/powercap",
        .labels = {LabelKey{"zone", "dynolog.rapl.zone"}, LabelKey{"index", "dynolog.rapl.index"},
                   LabelKey{"path", "dynolog.rapl.path"}},
        .prometheus = {.name = "node_rapl_{zone}_joules_total"},
        .otlp = {.name = "dynolog.rapl.energy"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_rapl_collector(const SystemRoot& root);

}  // namespace dynolog
