// Names of hardware monitoring: files of sensors, and chips (Documentation/hwmon/sysfs-interface).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dynolog {

// "temp1_crit_alarm": the sensor "temp1", of type "temp", and its element "crit_alarm".
struct HwmonFile {
  std::string_view type;
  std::uint32_t number = 0;  // 0: the name has none, as "vrm"
  std::string_view element;  // "": the name is the sensor's own, as "pwm1"
};

// nullopt: no sensor's file.
[[nodiscard]] std::optional<HwmonFile> parse_hwmon_file(std::string_view name);

// "temp1"; "vrm0" for what has no number.
[[nodiscard]] std::string sensor_name(const HwmonFile& file);

// In lower case; what is no letter, digit, ':' or '_' is '_', and none at its ends.
[[nodiscard]] std::string clean_hwmon_name(std::string_view name);

}  // namespace dynolog
