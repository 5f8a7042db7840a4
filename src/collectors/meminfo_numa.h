// Collector `meminfo_numa`: memory of each NUMA node, and where its pages were taken from.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kMeminfoNumaMetrics = {
    MetricDescriptor{
        .id = "memory.numa.field",
        .kind = MetricKind::gauge,
        .help = "A field of a NUMA node's meminfo: bytes, or pages where its name is HugePages_*",
        .source = "/sys/devices/system/node/node*/meminfo",
        .labels = {LabelKey{"node", "dynolog.numa.node"},
                   LabelKey{"field", "dynolog.memory.field"}},
        .prometheus = {.name = "node_memory_numa_{field}"},
        .otlp = {.name = "dynolog.memory.numa.field"},
        .json = {.name = "meminfo_node{node}.{field}"}},
    MetricDescriptor{
        .id = "memory.numa.allocations",
        .kind = MetricKind::counter,
        .help = "Pages taken from a NUMA node, by whether they were meant to come from it",
        .source = "/sys/devices/system/node/node*/numastat",
        .labels = {LabelKey{"node", "dynolog.numa.node"}, LabelKey{"event", "dynolog.numa.event"}},
        .prometheus = {.name = "node_memory_numa_{event}_total"},
        .otlp = {.name = "dynolog.memory.numa.allocations"},
        .json = {.name = "numastat_node{node}.{event}"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_meminfo_numa_collector(const SystemRoot& root);

}  // namespace dynolog
