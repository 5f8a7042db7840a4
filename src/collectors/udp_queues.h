// Collector `udp_queues`: /proc/net/udp and udp6. Bytes that wait in the queues of UDP sockets.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kUdpQueuesMetrics = {
    MetricDescriptor{
        .id = "udp.queued",
        .kind = MetricKind::gauge,
        .unit = Unit::bytes,
        .help = "Bytes that wait to be sent (tx) or read (rx) on all UDP sockets",
        .source = "/proc/net/udp, /proc/net/udp6",
        .labels = {LabelKey{"queue", "dynolog.udp.queue"}, LabelKey{"ip", "network.type"}},
        .prometheus = {.name = "node_udp_queues"},
        .otlp = {.name = "dynolog.udp.queued"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_udp_queues_collector(const SystemRoot& root);

}  // namespace dynolog
