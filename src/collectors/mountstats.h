// Collector `mountstats`: what each NFS mount counts: bytes, operations with their times,
// connections, events.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace mountstats_metrics {

inline constexpr LabelKey kExport{"export", "system.device"};
inline constexpr LabelKey kProtocol{"protocol", "network.transport"};
inline constexpr LabelKey kAddress{"mountaddr", "server.address"};
inline constexpr LabelKeys kMount = {kExport, kProtocol, kAddress};
inline constexpr LabelKeys kOperation = {kExport, kProtocol, kAddress,
                                         LabelKey{"operation", "dynolog.nfs.operation"}};
inline constexpr LabelKeys kTransport = {kExport, kProtocol, kAddress,
                                         LabelKey{"transport", "dynolog.nfs.transport"}};
inline constexpr LabelKeys kKind = {kExport, kProtocol, kAddress,
                                    LabelKey{"kind", "dynolog.nfs.kind"}};

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, LabelKeys labels,
                                  std::string_view prometheus, std::string_view otlp) {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = "/proc/self/mountstats",
          .labels = labels,
          .counter = {},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {}};
}

}  // namespace mountstats_metrics

inline constexpr std::size_t kNfsOperationMetrics = 9;
inline constexpr std::size_t kNfsTransportMetrics = 10;

// Those of operations first, then those of transports, each in the kernel's order.
inline constexpr std::array kMountstatsMetrics = {
    mountstats_metrics::metric("nfs_mount.operation.requests", MetricKind::counter, Unit::none,
                               "Requests of an operation", mountstats_metrics::kOperation,
                               "node_mountstats_nfs_operations_requests_total",
                               "dynolog.nfs_mount.operation.requests"),
    mountstats_metrics::metric("nfs_mount.operation.transmissions", MetricKind::counter, Unit::none,
                               "How often requests of an operation were sent, once more included",
                               mountstats_metrics::kOperation,
                               "node_mountstats_nfs_operations_transmissions_total",
                               "dynolog.nfs_mount.operation.transmissions"),
    mountstats_metrics::metric("nfs_mount.operation.major_timeouts", MetricKind::counter,
                               Unit::none, "Requests of an operation with a major timeout",
                               mountstats_metrics::kOperation,
                               "node_mountstats_nfs_operations_major_timeouts_total",
                               "dynolog.nfs_mount.operation.major_timeouts"),
    mountstats_metrics::metric(
        "nfs_mount.operation.sent", MetricKind::counter, Unit::bytes,
        "Bytes sent for an operation, headers included", mountstats_metrics::kOperation,
        "node_mountstats_nfs_operations_sent_bytes_total", "dynolog.nfs_mount.operation.sent"),
    mountstats_metrics::metric("nfs_mount.operation.received", MetricKind::counter, Unit::bytes,
                               "Bytes received for an operation, headers included",
                               mountstats_metrics::kOperation,
                               "node_mountstats_nfs_operations_received_bytes_total",
                               "dynolog.nfs_mount.operation.received"),
    mountstats_metrics::metric("nfs_mount.operation.queue_time", MetricKind::counter, Unit::seconds,
                               "Time that requests waited to be sent",
                               mountstats_metrics::kOperation,
                               "node_mountstats_nfs_operations_queue_time_seconds_total",
                               "dynolog.nfs_mount.operation.queue_time"),
    mountstats_metrics::metric(
        "nfs_mount.operation.response_time", MetricKind::counter, Unit::seconds,
        "Time from sending requests to their replies: the round trip and the server",
        mountstats_metrics::kOperation,
        "node_mountstats_nfs_operations_response_time_seconds_total",
        "dynolog.nfs_mount.operation.response_time"),
    mountstats_metrics::metric("nfs_mount.operation.request_time", MetricKind::counter,
                               Unit::seconds, "Time that requests took in all",
                               mountstats_metrics::kOperation,
                               "node_mountstats_nfs_operations_request_time_seconds_total",
                               "dynolog.nfs_mount.operation.request_time"),
    mountstats_metrics::metric(
        "nfs_mount.operation.errors", MetricKind::counter, Unit::none,
        "Requests of an operation that ended in an error", mountstats_metrics::kOperation,
        "node_mountstats_nfs_operations_errors_total", "dynolog.nfs_mount.operation.errors"),
    mountstats_metrics::metric("nfs_mount.transport.bind", MetricKind::counter, Unit::none,
                               "How often a connection to the server was made from nothing",
                               mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_bind_total",
                               "dynolog.nfs_mount.transport.bind"),
    mountstats_metrics::metric("nfs_mount.transport.connect", MetricKind::counter, Unit::none,
                               "TCP connections made to the server", mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_connect_total",
                               "dynolog.nfs_mount.transport.connect"),
    mountstats_metrics::metric(
        "nfs_mount.transport.idle_time", MetricKind::gauge, Unit::seconds,
        "Time since the connection was used last", mountstats_metrics::kTransport,
        "node_mountstats_nfs_transport_idle_time_seconds", "dynolog.nfs_mount.transport.idle_time"),
    mountstats_metrics::metric("nfs_mount.transport.sends", MetricKind::counter, Unit::none,
                               "Requests sent over the connection", mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_sends_total",
                               "dynolog.nfs_mount.transport.sends"),
    mountstats_metrics::metric(
        "nfs_mount.transport.receives", MetricKind::counter, Unit::none,
        "Replies received over the connection", mountstats_metrics::kTransport,
        "node_mountstats_nfs_transport_receives_total", "dynolog.nfs_mount.transport.receives"),
    mountstats_metrics::metric("nfs_mount.transport.bad_transaction_ids", MetricKind::counter,
                               Unit::none, "Replies to no request that is known",
                               mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_bad_transaction_ids_total",
                               "dynolog.nfs_mount.transport.bad_transaction_ids"),
    mountstats_metrics::metric("nfs_mount.transport.backlog_queue", MetricKind::counter, Unit::none,
                               "Requests that waited for a slot, added up",
                               mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_backlog_queue_total",
                               "dynolog.nfs_mount.transport.backlog_queue"),
    mountstats_metrics::metric("nfs_mount.transport.maximum_rpc_slots", MetricKind::gauge,
                               Unit::none, "Most requests that were under way at a time",
                               mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_maximum_rpc_slots",
                               "dynolog.nfs_mount.transport.maximum_rpc_slots"),
    mountstats_metrics::metric("nfs_mount.transport.sending_queue", MetricKind::counter, Unit::none,
                               "Requests that waited to be sent, added up",
                               mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_sending_queue_total",
                               "dynolog.nfs_mount.transport.sending_queue"),
    mountstats_metrics::metric("nfs_mount.transport.pending_queue", MetricKind::counter, Unit::none,
                               "Requests that waited for a reply, added up",
                               mountstats_metrics::kTransport,
                               "node_mountstats_nfs_transport_pending_queue_total",
                               "dynolog.nfs_mount.transport.pending_queue"),
    mountstats_metrics::metric("nfs_mount.age", MetricKind::counter, Unit::seconds,
                               "Age of the mount", mountstats_metrics::kMount,
                               "node_mountstats_nfs_age_seconds_total", "dynolog.nfs_mount.age"),
    mountstats_metrics::metric("nfs_mount.io", MetricKind::counter, Unit::bytes,
                               "Bytes read and written, by programs and with the server",
                               mountstats_metrics::kKind, "node_mountstats_nfs_{kind}_bytes_total",
                               "dynolog.nfs_mount.io"),
    mountstats_metrics::metric("nfs_mount.pages", MetricKind::counter, Unit::none,
                               "Pages read and written through mapped files",
                               mountstats_metrics::kKind, "node_mountstats_nfs_{kind}_pages_total",
                               "dynolog.nfs_mount.pages"),
    mountstats_metrics::metric("nfs_mount.events", MetricKind::counter, Unit::none,
                               "Events of the mount: calls of programs, caches, delays",
                               mountstats_metrics::kKind, "node_mountstats_nfs_event_{kind}_total",
                               "dynolog.nfs_mount.events"),
    mountstats_metrics::metric("nfs_mount.mountpoint", MetricKind::info, Unit::none,
                               "Where an export of a server is mounted; always 1",
                               LabelKeys{mountstats_metrics::kExport, mountstats_metrics::kProtocol,
                                         mountstats_metrics::kAddress,
                                         LabelKey{"mountpoint", "system.filesystem.mountpoint"}},
                               "node_mountstats_nfs_mountpoint_info",
                               "dynolog.nfs_mount.mountpoint"),
};

[[nodiscard]] std::unique_ptr<Collector> make_mountstats_collector(const SystemRoot& root);

}  // namespace dynolog
