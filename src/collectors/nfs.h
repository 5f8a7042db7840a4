// Collectors `nfs` and `nfsd`: what the NFS client and the NFS server of this host count.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace nfs_metrics {
inline constexpr std::string_view kClientSource = "/proc/net/rpc/nfs";
inline constexpr std::string_view kServerSource = "/proc/net/rpc/nfsd";

// The kernel's numbers are of 32 bits.
constexpr MetricDescriptor counter(std::string_view id, std::string_view help,
                                   std::string_view source, std::string_view prometheus,
                                   std::string_view otlp, LabelKeys labels = {}) {
  return {.id = id,
          .kind = MetricKind::counter,
          .unit = Unit::none,
          .help = help,
          .source = source,
          .labels = labels,
          .counter = {.bits = 32},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {}};
}

constexpr MetricDescriptor client(std::string_view id, std::string_view help,
                                  std::string_view prometheus, std::string_view otlp,
                                  LabelKeys labels = {}) {
  return counter(id, help, kClientSource, prometheus, otlp, labels);
}
constexpr MetricDescriptor server(std::string_view id, std::string_view help,
                                  std::string_view prometheus, std::string_view otlp,
                                  LabelKeys labels = {}) {
  return counter(id, help, kServerSource, prometheus, otlp, labels);
}
}  // namespace nfs_metrics

inline constexpr std::array kNfsMetrics = {
    nfs_metrics::client("nfs.packets", "Packets of the NFS client, sent and received",
                        "node_nfs_packets_total", "dynolog.nfs.packets",
                        {LabelKey{"protocol", "network.transport"}}),
    nfs_metrics::client("nfs.connections", "TCP connections of the NFS client",
                        "node_nfs_connections_total", "dynolog.nfs.connections"),
    nfs_metrics::client("nfs.rpcs", "Requests (RPCs) that the NFS client made",
                        "node_nfs_rpcs_total", "dynolog.nfs.rpcs"),
    nfs_metrics::client("nfs.rpc_retransmissions", "Requests that the NFS client sent once more",
                        "node_nfs_rpc_retransmissions_total", "dynolog.nfs.rpc_retransmissions"),
    nfs_metrics::client(
        "nfs.rpc_authentication_refreshes", "How often the NFS client renewed its credentials",
        "node_nfs_rpc_authentication_refreshes_total", "dynolog.nfs.rpc_authentication_refreshes"),
    nfs_metrics::client(
        "nfs.requests", "Requests of the NFS client, by procedure", "node_nfs_requests_total",
        "dynolog.nfs.requests",
        {LabelKey{"proto", "dynolog.nfs.version"}, LabelKey{"method", "dynolog.nfs.procedure"}}),
};

inline constexpr std::array kNfsdMetrics = {
    nfs_metrics::server("nfsd.reply_cache_hits", "Requests that the reply cache answered",
                        "node_nfsd_reply_cache_hits_total", "dynolog.nfsd.reply_cache_hits"),
    nfs_metrics::server("nfsd.reply_cache_misses", "Requests that went into the reply cache",
                        "node_nfsd_reply_cache_misses_total", "dynolog.nfsd.reply_cache_misses"),
    nfs_metrics::server("nfsd.reply_cache_nocache", "Requests that need no reply cache",
                        "node_nfsd_reply_cache_nocache_total", "dynolog.nfsd.reply_cache_nocache"),
    nfs_metrics::server("nfsd.file_handles_stale", "File handles of clients that were stale",
                        "node_nfsd_file_handles_stale_total", "dynolog.nfsd.file_handles_stale"),
    nfs_metrics::server("nfsd.disk_bytes_read", "Bytes that the NFS server read",
                        "node_nfsd_disk_bytes_read_total", "dynolog.nfsd.disk_bytes_read"),
    nfs_metrics::server("nfsd.disk_bytes_written", "Bytes that the NFS server wrote",
                        "node_nfsd_disk_bytes_written_total", "dynolog.nfsd.disk_bytes_written"),
    MetricDescriptor{.id = "nfsd.server_threads",
                     .kind = MetricKind::gauge,
                     .help = "Threads of the NFS server",
                     .source = nfs_metrics::kServerSource,
                     .prometheus = {.name = "node_nfsd_server_threads"},
                     .otlp = {.name = "dynolog.nfsd.server_threads"}},
    MetricDescriptor{.id = "nfsd.read_ahead_cache_size",
                     .kind = MetricKind::gauge,
                     .help = "Blocks of the read-ahead cache",
                     .source = nfs_metrics::kServerSource,
                     .prometheus = {.name = "node_nfsd_read_ahead_cache_size_blocks"},
                     .otlp = {.name = "dynolog.nfsd.read_ahead_cache_size"}},
    nfs_metrics::server("nfsd.read_ahead_cache_not_found", "What the read-ahead cache had not",
                        "node_nfsd_read_ahead_cache_not_found_total",
                        "dynolog.nfsd.read_ahead_cache_not_found"),
    nfs_metrics::server("nfsd.packets", "Packets of the NFS server, sent and received",
                        "node_nfsd_packets_total", "dynolog.nfsd.packets",
                        {LabelKey{"proto", "network.transport"}}),
    nfs_metrics::server("nfsd.connections", "TCP connections of the NFS server",
                        "node_nfsd_connections_total", "dynolog.nfsd.connections"),
    nfs_metrics::server("nfsd.server_rpcs", "Requests (RPCs) that came to the NFS server",
                        "node_nfsd_server_rpcs_total", "dynolog.nfsd.server_rpcs"),
    nfs_metrics::server("nfsd.rpc_errors", "Requests that the NFS server could not take",
                        "node_nfsd_rpc_errors_total", "dynolog.nfsd.rpc_errors",
                        {LabelKey{"error", "error.type"}}),
    nfs_metrics::server(
        "nfsd.requests", "Requests that the NFS server served, by procedure",
        "node_nfsd_requests_total", "dynolog.nfsd.requests",
        {LabelKey{"proto", "dynolog.nfs.version"}, LabelKey{"method", "dynolog.nfs.procedure"}}),
};

[[nodiscard]] std::unique_ptr<Collector> make_nfs_collector(const SystemRoot& root);
[[nodiscard]] std::unique_ptr<Collector> make_nfsd_collector(const SystemRoot& root);

}  // namespace dynolog
