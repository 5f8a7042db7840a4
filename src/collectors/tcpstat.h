// Collector `tcpstat`: TCP connections by state.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "base/error.h"
#include "kernel/tcp_diag.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kTcpstatMetrics = {
    MetricDescriptor{
        .id = "tcp.connections",
        .kind = MetricKind::gauge,
        .help = "TCP connections by state; rx_queued_bytes and tx_queued_bytes are what waits in "
                "all their queues",
        .source = "NETLINK_SOCK_DIAG",
        .labels = {LabelKey{"state", "dynolog.tcp.state"}},
        .prometheus = {.name = "node_tcp_connection_states"},
        .otlp = {.name = "dynolog.tcp.connections"},
        .json = {.name = "tcp_connections.{state}"}},
};

// `read`: TcpDiag's, or what a test has instead.
[[nodiscard]] std::unique_ptr<Collector> make_tcpstat_collector(
    std::function<Status(TcpConnections&)> read);
[[nodiscard]] std::unique_ptr<Collector> make_tcpstat_collector();

}  // namespace dynolog
