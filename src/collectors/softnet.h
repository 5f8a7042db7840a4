// Collector `softnet`: /proc/net/softnet_stat, how each CPU takes packets off the network devices.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace softnet_metrics {

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, std::string_view help,
                                  std::string_view prometheus, std::string_view otlp) {
  return {.id = id,
          .kind = kind,
          .help = help,
          .source = "/proc/net/softnet_stat",
          .labels = {LabelKey{"cpu", "cpu.logical_number"}},
          .counter = {.bits = kind == MetricKind::counter ? 32U : 0U},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp}};
}

}  // namespace softnet_metrics

inline constexpr std::array kSoftnetMetrics = [] {
  using softnet_metrics::metric;
  using enum MetricKind;
  return std::array{
      metric("softnet.processed", counter, "Packets that a CPU has taken",
             "node_softnet_processed_total", "dynolog.softnet.processed"),
      metric("softnet.dropped", counter, "Packets dropped because a CPU's queue was full",
             "node_softnet_dropped_total", "dynolog.softnet.dropped"),
      metric("softnet.squeezed", counter,
             "How often a CPU ran out of time or budget with packets left",
             "node_softnet_times_squeezed_total", "dynolog.softnet.squeezed"),
      metric("softnet.received_rps", counter,
             "How often a CPU was woken by another to take packets (RPS)",
             "node_softnet_received_rps_total", "dynolog.softnet.received_rps"),
      metric("softnet.flow_limit", counter, "Packets dropped by the limit of one flow",
             "node_softnet_flow_limit_count_total", "dynolog.softnet.flow_limit"),
      metric("softnet.backlog", gauge, "Packets that wait in a CPU's queue",
             "node_softnet_backlog_len", "dynolog.softnet.backlog"),
  };
}();

[[nodiscard]] std::unique_ptr<Collector> make_softnet_collector(const SystemRoot& root);

}  // namespace dynolog
