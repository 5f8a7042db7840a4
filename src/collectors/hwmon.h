// Collector `hwmon`: /sys/class/hwmon. Temperatures, fans, voltages, currents and power by sensor.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace hwmon_metrics {

inline constexpr LabelKey kChip{"chip", "dynolog.hwmon.chip"};
inline constexpr LabelKey kSensor{"sensor", "dynolog.hwmon.sensor"};
inline constexpr LabelKey kType{"type", "dynolog.hwmon.type"};
inline constexpr LabelKey kElement{"element", "dynolog.hwmon.element"};

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, std::string_view prometheus,
                                  std::string_view otlp, LabelKeys labels = {kChip, kSensor}) {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = "/sys/class/hwmon",
          .labels = labels,
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp}};
}

}  // namespace hwmon_metrics

// A sensor's reading has a metric of its own; its bounds and alarms, whose names follow the kernel,
// carry the element that they are.
inline constexpr std::array kHwmonMetrics = [] {
  using namespace hwmon_metrics;
  using enum MetricKind;
  return std::array{
      metric("hwmon.chip_name", info, Unit::none, "The name that a chip's driver gives it",
             "node_hwmon_chip_names", "dynolog.hwmon.chip_name",
             {kChip, LabelKey{"chip_name", "dynolog.hwmon.chip_name"}}),
      metric("hwmon.sensor_label", info, Unit::none, "What a sensor measures",
             "node_hwmon_sensor_label", "dynolog.hwmon.sensor_label",
             {kChip, kSensor, LabelKey{"label", "dynolog.hwmon.label"}}),
      metric("hwmon.temperature", gauge, Unit::celsius, "Temperature", "node_hwmon_temp_celsius",
             "dynolog.hwmon.temperature"),
      metric("hwmon.temperature.element", gauge, Unit::celsius,
             "Bounds of a temperature, and their alarms", "node_hwmon_temp_{element}_celsius",
             "dynolog.hwmon.temperature.element", {kChip, kSensor, kElement}),
      metric("hwmon.voltage", gauge, Unit::volts, "Voltage", "node_hwmon_{type}_volts",
             "dynolog.hwmon.voltage", {kChip, kSensor, kType}),
      metric("hwmon.voltage.element", gauge, Unit::volts, "Bounds of a voltage, and their alarms",
             "node_hwmon_{type}_{element}_volts", "dynolog.hwmon.voltage.element",
             {kChip, kSensor, kType, kElement}),
      metric("hwmon.current", gauge, Unit::none, "Current in amperes", "node_hwmon_curr_amps",
             "dynolog.hwmon.current"),
      metric("hwmon.current.element", gauge, Unit::none, "Bounds of a current, and their alarms",
             "node_hwmon_curr_{element}_amps", "dynolog.hwmon.current.element",
             {kChip, kSensor, kElement}),
      metric("hwmon.energy", counter, Unit::joules, "Energy used", "node_hwmon_energy_joule_total",
             "dynolog.hwmon.energy"),
      metric("hwmon.power", gauge, Unit::watts, "Power", "node_hwmon_power_watt",
             "dynolog.hwmon.power"),
      metric("hwmon.power.element", gauge, Unit::watts, "Averages and bounds of a power",
             "node_hwmon_power_{element}_watt", "dynolog.hwmon.power.element",
             {kChip, kSensor, kElement}),
      metric("hwmon.power.interval", gauge, Unit::seconds,
             "Intervals that a power is averaged over", "node_hwmon_power_{element}_seconds",
             "dynolog.hwmon.power.interval", {kChip, kSensor, kElement}),
      metric("hwmon.humidity", gauge, Unit::none, "Relative humidity as a share of 1",
             "node_hwmon_humidity", "dynolog.hwmon.humidity"),
      metric("hwmon.fan", gauge, Unit::rpm, "Turns of a fan a minute", "node_hwmon_fan_rpm",
             "dynolog.hwmon.fan"),
      metric("hwmon.fan.element", gauge, Unit::rpm, "Bounds and target of a fan's turns",
             "node_hwmon_fan_{element}_rpm", "dynolog.hwmon.fan.element",
             {kChip, kSensor, kElement}),
      metric("hwmon.frequency", gauge, Unit::none, "Clock frequency in MHz",
             "node_hwmon_freq_freq_mhz", "dynolog.hwmon.frequency"),
      metric("hwmon.value", gauge, Unit::none, "Value of a sensor that has no unit, such as PWM",
             "node_hwmon_{type}", "dynolog.hwmon.value", {kChip, kSensor, kType}),
      metric("hwmon.value.element", gauge, Unit::none,
             "Alarms, faults and settings of a sensor, as the kernel says them",
             "node_hwmon_{type}_{element}", "dynolog.hwmon.value.element",
             {kChip, kSensor, kType, kElement}),
      metric("hwmon.beep", gauge, Unit::none, "Whether a sensor's alarm beeps (1) or not (0)",
             "node_hwmon_{type}_beep_enabled", "dynolog.hwmon.beep", {kChip, kSensor, kType}),
      metric("hwmon.beep_enabled", gauge, Unit::none, "Whether a chip beeps at alarms (1) or not",
             "node_hwmon_beep_enabled", "dynolog.hwmon.beep_enabled"),
      metric("hwmon.regulator_version", gauge, Unit::none, "Version of the voltage regulator",
             "node_hwmon_voltage_regulator_version", "dynolog.hwmon.regulator_version"),
      metric("hwmon.update_interval", gauge, Unit::seconds, "How often a chip reads its sensors",
             "node_hwmon_update_interval_seconds", "dynolog.hwmon.update_interval"),
  };
}();

[[nodiscard]] std::unique_ptr<Collector> make_hwmon_collector(const SystemRoot& root);

}  // namespace dynolog
