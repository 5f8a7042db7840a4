// Collector `load`: /proc/loadavg. The smallest real example of a collector.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kLoadMetrics = {
    MetricDescriptor{.id = "load.1m",
                     .kind = MetricKind::gauge,
                     .help = "Runnable and uninterruptible threads, averaged over 1 minute",
                     .source = "/proc/loadavg",
                     .prometheus = {.name = "node_load1"},
                     .otlp = {.name = "dynolog.load.1m"},
                     .json = {.name = "load1"}},
    MetricDescriptor{.id = "load.5m",
                     .kind = MetricKind::gauge,
                     .help = "Runnable and uninterruptible threads, averaged over 5 minutes",
                     .source = "/proc/loadavg",
                     .prometheus = {.name = "node_load5"},
                     .otlp = {.name = "dynolog.load.5m"},
                     .json = {.name = "load5"}},
    MetricDescriptor{.id = "load.15m",
                     .kind = MetricKind::gauge,
                     .help = "Runnable and uninterruptible threads, averaged over 15 minutes",
                     .source = "/proc/loadavg",
                     .prometheus = {.name = "node_load15"},
                     .otlp = {.name = "dynolog.load.15m"},
                     .json = {.name = "load15"}},
    MetricDescriptor{.id = "host.threads",
                     .kind = MetricKind::gauge,
                     .help = "Threads on the host, the kernel's included",
                     .source = "/proc/loadavg",
                     .prometheus = {.name = "dynolog_host_threads"},
                     .otlp = {.name = "dynolog.host.threads"},
                     .json = {.name = "host_threads"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_load_collector(const SystemRoot& root);

}  // namespace dynolog
