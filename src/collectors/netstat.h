// Collector `netstat`: /proc/net/netstat, snmp and snmp6, the counters of the protocols that the
// options choose.
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kNetstatMetrics = {
    MetricDescriptor{
        .id = "netstat.event",
        .kind = MetricKind::counter,
        .help = "What a network protocol counted, by the kernel's own names",
        .source = "/proc/net/netstat, snmp, snmp6",
        .labels = {LabelKey{"protocol", "dynolog.protocol"}, LabelKey{"field", "dynolog.field"}},
        .prometheus = {.name = "node_netstat_{protocol}_{field}", .type_override = "untyped"},
        .otlp = {.name = "dynolog.netstat.event"},
        .json = {.name = "netstat.{protocol}.{field}"}},
    MetricDescriptor{
        .id = "netstat.tcp_established",
        .kind = MetricKind::gauge,
        .help = "TCP connections that are open",
        .source = "/proc/net/snmp",
        .prometheus = {.name = "node_netstat_Tcp_CurrEstab", .type_override = "untyped"},
        .otlp = {.name = "dynolog.netstat.tcp_established"},
        .json = {.name = "tcp_established"}},
    MetricDescriptor{
        .id = "netstat.ip_forwarding",
        .kind = MetricKind::gauge,
        .help = "Whether the host forwards IP packets (1) or not (2)",
        .source = "/proc/net/snmp",
        .prometheus = {.name = "node_netstat_Ip_Forwarding", .type_override = "untyped"},
        .otlp = {.name = "dynolog.netstat.ip_forwarding"}},
};

// An error of kind invalid when the options' expression is none.
[[nodiscard]] Result<std::unique_ptr<Collector>> make_netstat_collector(
    const SystemRoot& root, const CollectorOptions::Netstat& options);

}  // namespace dynolog
