// Collector `conntrack`: the table of tracked connections.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kConntrackMetrics = {
    MetricDescriptor{.id = "conntrack.entries",
                     .kind = MetricKind::gauge,
                     .help = "Connections that are tracked",
                     .source = "/proc/sys/net/netfilter/nf_conntrack_count",
                     .prometheus = {.name = "node_nf_conntrack_entries"},
                     .otlp = {.name = "dynolog.conntrack.entries"},
                     .json = {.name = "conntrack_entries"}},
    MetricDescriptor{.id = "conntrack.limit",
                     .kind = MetricKind::gauge,
                     .help = "Connections that can be tracked",
                     .source = "/proc/sys/net/netfilter/nf_conntrack_max",
                     .prometheus = {.name = "node_nf_conntrack_entries_limit"},
                     .otlp = {.name = "dynolog.conntrack.limit"}},
    MetricDescriptor{
        .id = "conntrack.events",
        .kind = MetricKind::counter,
        .help = "What happened in the table of connections, by the kernel's names",
        .source = "/proc/net/stat/nf_conntrack",
        .labels = {LabelKey{"event", "dynolog.conntrack.event"}},
        .prometheus = {.name = "node_nf_conntrack_stat_{event}", .type_override = "gauge"},
        .otlp = {.name = "dynolog.conntrack.events"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_conntrack_collector(const SystemRoot& root);

}  // namespace dynolog
