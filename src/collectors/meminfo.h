// Collector `meminfo`: /proc/meminfo, each field as it is, and what users ask for: used, free,
// cached, available.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kMeminfoMetrics = {
    MetricDescriptor{.id = "memory.field",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "A field of /proc/meminfo that is an amount of memory",
                     .source = "/proc/meminfo",
                     .labels = {LabelKey{"field", "dynolog.memory.field"}},
                     .prometheus = {.name = "node_memory_{field}_bytes"},
                     .otlp = {.name = "dynolog.memory.field"},
                     .json = {.name = "meminfo.{field}"}},
    MetricDescriptor{.id = "memory.pages",
                     .kind = MetricKind::gauge,
                     .unit = Unit::none,
                     .help = "A field of /proc/meminfo that is a number of huge pages",
                     .source = "/proc/meminfo",
                     .labels = {LabelKey{"field", "dynolog.memory.field"}},
                     .prometheus = {.name = "node_memory_{field}"},
                     .otlp = {.name = "dynolog.memory.pages"},
                     .json = {.name = "meminfo_pages.{field}"}},
    MetricDescriptor{.id = "memory.usage",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Memory by state: used, free, buffers, cached; together all of it",
                     .source = "/proc/meminfo",
                     .labels = {LabelKey{"state", "system.memory.state"}},
                     .otlp = {.name = "system.memory.usage"},
                     .json = {.name = "memory_{state}_bytes"}},
    MetricDescriptor{.id = "memory.limit",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Memory of the host that the kernel can use",
                     .source = "/proc/meminfo",
                     .otlp = {.name = "system.memory.limit"},
                     .json = {.name = "memory_total_bytes"}},
    MetricDescriptor{.id = "memory.available",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Memory that programs can still get without swapping",
                     .source = "/proc/meminfo",
                     .otlp = {.name = "system.memory.linux.available"},
                     .json = {.name = "memory_available_bytes"}},
    MetricDescriptor{.id = "memory.slab",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Memory of the kernel's own objects, by whether it can be reclaimed",
                     .source = "/proc/meminfo",
                     .labels = {LabelKey{"state", "linux.memory.slab.state"}},
                     .otlp = {.name = "system.memory.linux.slab.usage"},
                     .json = {.name = "memory_slab_{state}_bytes"}},
    MetricDescriptor{.id = "swap.usage",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Swap space by state: used, free",
                     .source = "/proc/meminfo",
                     .labels = {LabelKey{"state", "system.paging.state"}},
                     .otlp = {.name = "system.paging.usage"},
                     .json = {.name = "swap_{state}_bytes"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_meminfo_collector(const SystemRoot& root);

}  // namespace dynolog
