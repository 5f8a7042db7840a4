// Collectors `time` and `clocksource`: the host's time of day, and what its clock is read from.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kTimeMetrics = {
    MetricDescriptor{.id = "host.time",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "Time of day when the host was read, in seconds since the epoch",
                     .source = "clock_gettime(2)",
                     .prometheus = {.name = "node_time_seconds"}},
    MetricDescriptor{.id = "host.time_zone_offset",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "Local time less UTC",
                     .source = "/etc/localtime",
                     .labels = {LabelKey{"time_zone", "dynolog.time_zone"}},
                     .prometheus = {.name = "node_time_zone_offset_seconds"},
                     .otlp = {.name = "dynolog.host.time_zone_offset"}},
};

inline constexpr std::array kClocksourceMetrics = {
    MetricDescriptor{.id = "clocksource.current",
                     .kind = MetricKind::info,
                     .help = "The clock source that the kernel uses, as a label; the value is 1",
                     .source = "/sys/devices/system/clocksource",
                     .labels = {LabelKey{"device", "dynolog.device"},
                                LabelKey{"clocksource", "dynolog.clocksource"}},
                     .prometheus = {.name = "node_time_clocksource_current_info"},
                     .otlp = {.name = "dynolog.clocksource.current"}},
    MetricDescriptor{.id = "clocksource.available",
                     .kind = MetricKind::info,
                     .help = "A clock source that the kernel could use, as a label; always 1",
                     .source = "/sys/devices/system/clocksource",
                     .labels = {LabelKey{"device", "dynolog.device"},
                                LabelKey{"clocksource", "dynolog.clocksource"}},
                     .prometheus = {.name = "node_time_clocksource_available_info"},
                     .otlp = {.name = "dynolog.clocksource.available"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_time_collector();
[[nodiscard]] std::unique_ptr<Collector> make_clocksource_collector(const SystemRoot& root);

}  // namespace dynolog
