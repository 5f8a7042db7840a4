// Collector `thermal_zone`: /sys/class/thermal. Temperatures of zones, and states of what cools.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace thermal_metrics {

inline constexpr LabelKey kType{"type", "dynolog.thermal.type"};

constexpr MetricDescriptor cooling(std::string_view id, std::string_view help,
                                   std::string_view prometheus, std::string_view otlp) {
  return {.id = id,
          .kind = MetricKind::gauge,
          .help = help,
          .source = "/sys/class/thermal",
          .labels = {LabelKey{"name", "dynolog.thermal.device"}, kType},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp}};
}

}  // namespace thermal_metrics

inline constexpr std::array kThermalMetrics = {
    MetricDescriptor{.id = "thermal.temperature",
                     .kind = MetricKind::gauge,
                     .unit = Unit::celsius,
                     .help = "Temperature of a thermal zone",
                     .source = "/sys/class/thermal",
                     .labels = {LabelKey{"zone", "dynolog.thermal.zone"}, thermal_metrics::kType},
                     .prometheus = {.name = "node_thermal_zone_temp"},
                     .otlp = {.name = "dynolog.thermal.temperature"}},
    thermal_metrics::cooling("thermal.cooling_state", "How much a cooling device cools now",
                             "node_cooling_device_cur_state", "dynolog.thermal.cooling_state"),
    thermal_metrics::cooling("thermal.cooling_most", "How much a cooling device can cool",
                             "node_cooling_device_max_state", "dynolog.thermal.cooling_most"),
};

[[nodiscard]] std::unique_ptr<Collector> make_thermal_collector(const SystemRoot& root);

}  // namespace dynolog
