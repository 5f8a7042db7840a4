// Taking names of hardware monitoring apart.
#include "kernel/hwmon_names.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/number.h"

namespace dynolog {
namespace {

constexpr std::array<std::string_view, 11> kTypes = {
    "in", "cpu", "fan", "pwm", "temp", "curr", "power", "energy", "humidity", "intrusion", "freq"};
// Of the chip, so without a number. (Every device has a directory "power".)
constexpr std::array<std::string_view, 3> kOfChip = {"vrm", "beep_enable", "update_interval"};

char clean(char letter) { return is_alnum(letter) || letter == ':' ? to_lower(letter) : '_'; }

}  // namespace

std::optional<HwmonFile> parse_hwmon_file(std::string_view name) {
  const auto digits = static_cast<std::size_t>(std::ranges::find_if(name, is_digit) - name.begin());
  HwmonFile file;
  file.type = name.substr(0, digits);
  if (std::ranges::find(kOfChip, name) != kOfChip.end()) return file;
  if (std::ranges::find(kTypes, file.type) == kTypes.end()) return std::nullopt;
  name.remove_prefix(digits);
  const auto end =
      static_cast<std::size_t>(std::ranges::find_if_not(name, is_digit) - name.begin());
  const auto number = parse_number<std::uint32_t>(name.substr(0, end));
  if (!number) return std::nullopt;
  file.number = *number;
  name.remove_prefix(end);
  if (name.empty()) return file;
  if (name.size() < 2 || name.front() != '_') return std::nullopt;
  file.element = name.substr(1);
  return file;
}

std::string sensor_name(const HwmonFile& file) {
  return std::string(file.type) + std::to_string(file.number);
}

std::string clean_hwmon_name(std::string_view name) {
  std::string cleaned(name);
  std::ranges::transform(cleaned, cleaned.begin(), clean);
  const std::size_t first = cleaned.find_first_not_of('_');
  if (first == std::string::npos) return "";
  return cleaned.substr(first, cleaned.find_last_not_of('_') - first + 1);
}

}  // namespace dynolog
