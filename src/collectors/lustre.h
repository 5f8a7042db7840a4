// Collectors `lustre` and `lustre_targets`: what a Lustre client counts, of each file system that
// is mounted, and of the connection to each of its targets.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace lustre_metrics {

inline constexpr LabelKey kTarget{"target", "dynolog.lustre.target"};

// Of a file system: named as lustre_exporter names it.
constexpr MetricDescriptor mount(std::string_view id, MetricKind kind, Unit unit,
                                 std::string_view help, std::string_view prometheus,
                                 std::string_view otlp, LabelKeys labels = {kTarget}) {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = "lustre/llite/*/stats",
          .labels = labels,
          .prometheus = {.name = prometheus, .fixed_key = "component", .fixed_value = "client"},
          .otlp = {.name = otlp}};
}

// Of a connection.
constexpr MetricDescriptor target(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, std::string_view prometheus,
                                  std::string_view otlp) {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = "lustre/{osc,mdc}/*/{stats,import}",
          .labels = {kTarget},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp}};
}

}  // namespace lustre_metrics

inline constexpr std::array kLustreMetrics = {
    lustre_metrics::mount("lustre.read", MetricKind::counter, Unit::bytes,
                          "Bytes that programs have read", "lustre_read_bytes_total",
                          "dynolog.lustre.read"),
    lustre_metrics::mount("lustre.write", MetricKind::counter, Unit::bytes,
                          "Bytes that programs have written", "lustre_write_bytes_total",
                          "dynolog.lustre.write"),
    lustre_metrics::mount("lustre.reads", MetricKind::counter, Unit::none,
                          "Calls of programs that have read", "lustre_read_samples_total",
                          "dynolog.lustre.reads"),
    lustre_metrics::mount("lustre.writes", MetricKind::counter, Unit::none,
                          "Calls of programs that have written", "lustre_write_samples_total",
                          "dynolog.lustre.writes"),
    lustre_metrics::mount("lustre.read_least", MetricKind::gauge, Unit::bytes,
                          "Fewest bytes that one call has read", "lustre_read_minimum_size_bytes",
                          "dynolog.lustre.read_least"),
    lustre_metrics::mount("lustre.write_least", MetricKind::gauge, Unit::bytes,
                          "Fewest bytes that one call has written",
                          "lustre_write_minimum_size_bytes", "dynolog.lustre.write_least"),
    lustre_metrics::mount("lustre.read_most", MetricKind::gauge, Unit::bytes,
                          "Most bytes that one call has read", "lustre_read_maximum_size_bytes",
                          "dynolog.lustre.read_most"),
    lustre_metrics::mount("lustre.write_most", MetricKind::gauge, Unit::bytes,
                          "Most bytes that one call has written", "lustre_write_maximum_size_bytes",
                          "dynolog.lustre.write_most"),
    lustre_metrics::mount(
        "lustre.operations", MetricKind::counter, Unit::none,
        "Operations that the file system was asked for", "lustre_stats_total",
        "dynolog.lustre.operations",
        {LabelKey{"operation", "dynolog.lustre.operation"}, lustre_metrics::kTarget}),
};

inline constexpr std::array kLustreTargetsMetrics = {
    lustre_metrics::target("lustre.target.usable", MetricKind::gauge, Unit::none,
                           "Whether the target is connected, or idle: 1, else 0",
                           "dynolog_lustre_target_usable", "dynolog.lustre.target.usable"),
    lustre_metrics::target("lustre.target.connection_attempts", MetricKind::counter, Unit::none,
                           "Connections to the target that were tried",
                           "dynolog_lustre_target_connection_attempts_total",
                           "dynolog.lustre.target.connection_attempts"),
    lustre_metrics::target("lustre.target.in_flight", MetricKind::gauge, Unit::none,
                           "Requests that the target has not answered yet",
                           "dynolog_lustre_target_requests_in_flight",
                           "dynolog.lustre.target.in_flight"),
    lustre_metrics::target("lustre.target.timeouts", MetricKind::counter, Unit::none,
                           "Requests that the target did not answer in time",
                           "dynolog_lustre_target_timeouts_total",
                           "dynolog.lustre.target.timeouts"),
    lustre_metrics::target("lustre.target.requests", MetricKind::counter, Unit::none,
                           "Requests that the target has answered",
                           "dynolog_lustre_target_requests_total",
                           "dynolog.lustre.target.requests"),
    lustre_metrics::target("lustre.target.wait_time", MetricKind::counter, Unit::seconds,
                           "Time that requests waited for the target's answers, added up",
                           "dynolog_lustre_target_wait_seconds_total",
                           "dynolog.lustre.target.wait_time"),
    lustre_metrics::target("lustre.target.read", MetricKind::counter, Unit::bytes,
                           "Bytes read from the target", "dynolog_lustre_target_read_bytes_total",
                           "dynolog.lustre.target.read"),
    lustre_metrics::target(
        "lustre.target.write", MetricKind::counter, Unit::bytes, "Bytes written to the target",
        "dynolog_lustre_target_written_bytes_total", "dynolog.lustre.target.write"),
};

// Memory of the client only: neither asks a server for anything, so that neither can hang.
[[nodiscard]] std::unique_ptr<Collector> make_lustre_collector(const SystemRoot& root);
// A large file system has hundreds of targets, each of whose files is a sum over all CPUs: once a
// minute.
[[nodiscard]] std::unique_ptr<Collector> make_lustre_targets_collector(const SystemRoot& root);

}  // namespace dynolog
