// Collector `sockstat`: /proc/net/sockstat and sockstat6, sockets in use by protocol.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kSockstatMetrics = {
    MetricDescriptor{
        .id = "sockets.field",
        .kind = MetricKind::gauge,
        .help = "Sockets of a protocol by use, or their memory in pages (mem) or bytes (memory)",
        .source = "/proc/net/sockstat, sockstat6",
        .labels = {LabelKey{"protocol", "dynolog.protocol"}, LabelKey{"field", "dynolog.field"}},
        .prometheus = {.name = "node_sockstat_{protocol}_{field}"},
        .otlp = {.name = "dynolog.sockets.field"},
        .json = {.name = "sockstat.{protocol}.{field}"}},
    MetricDescriptor{.id = "sockets.memory",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Memory of a protocol's sockets",
                     .source = "/proc/net/sockstat",
                     .labels = {LabelKey{"protocol", "dynolog.protocol"}},
                     .prometheus = {.name = "node_sockstat_{protocol}_mem_bytes"},
                     .otlp = {.name = "dynolog.sockets.memory"}},
};

// `page_size`: sysconf(_SC_PAGESIZE).
[[nodiscard]] std::unique_ptr<Collector> make_sockstat_collector(const SystemRoot& root,
                                                                 long page_size);

}  // namespace dynolog
