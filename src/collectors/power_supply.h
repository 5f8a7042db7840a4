// Collector `powersupplyclass`: /sys/class/power_supply. Mains, batteries and their charge.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace power_supply_metrics {

inline constexpr LabelKey kSupply{"power_supply", "dynolog.power_supply"};

// In the order of the collector's files.
inline constexpr std::array kInfoLabels = {
    kSupply,
    LabelKey{"capacity_level", "dynolog.power_supply.capacity_level"},
    LabelKey{"charge_type", "dynolog.power_supply.charge_type"},
    LabelKey{"health", "dynolog.power_supply.health"},
    LabelKey{"manufacturer", "dynolog.power_supply.manufacturer"},
    LabelKey{"model_name", "dynolog.power_supply.model_name"},
    LabelKey{"scope", "dynolog.power_supply.scope"},
    LabelKey{"serial_number", "dynolog.power_supply.serial_number"},
    LabelKey{"status", "dynolog.power_supply.status"},
    LabelKey{"technology", "dynolog.power_supply.technology"},
    LabelKey{"type", "dynolog.power_supply.type"},
    LabelKey{"usb_type", "dynolog.power_supply.usb_type"}};

constexpr MetricDescriptor fields(std::string_view id, Unit unit, std::string_view help,
                                  std::string_view prometheus, std::string_view otlp) {
  return {.id = id,
          .kind = MetricKind::gauge,
          .unit = unit,
          .help = help,
          .source = "/sys/class/power_supply",
          .labels = {kSupply, LabelKey{"field", "dynolog.power_supply.field"}},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp}};
}

}  // namespace power_supply_metrics

inline constexpr std::array kPowerSupplyMetrics = {
    power_supply_metrics::fields("power_supply.value", Unit::none,
                                 "Figure of a power supply: state, or volts, amperes, watts, "
                                 "ampere-hours or watt-hours, as its field says",
                                 "node_power_supply_{field}", "dynolog.power_supply.value"),
    power_supply_metrics::fields("power_supply.temperature", Unit::celsius,
                                 "Temperatures of a power supply, and their bounds",
                                 "node_power_supply_{field}_celsius",
                                 "dynolog.power_supply.temperature"),
    power_supply_metrics::fields("power_supply.time", Unit::seconds,
                                 "Time until a battery is empty or full",
                                 "node_power_supply_{field}_seconds", "dynolog.power_supply.time"),
    MetricDescriptor{.id = "power_supply.info",
                     .kind = MetricKind::info,
                     .help = "What is known of a power supply, as labels; the value is 1",
                     .source = "/sys/class/power_supply",
                     .labels = LabelKeys(power_supply_metrics::kInfoLabels),
                     .prometheus = {.name = "node_power_supply_info"},
                     .otlp = {.name = "dynolog.power_supply.info"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_power_supply_collector(const SystemRoot& root);

}  // namespace dynolog
