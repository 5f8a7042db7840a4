// Parser of udev's notes on a device: /run/udev/data/b8:0, lines "E:ID_MODEL=...".
#pragma once

#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

// The property's value, a part of `text`; "" when there is none.
[[nodiscard]] inline std::string_view udev_property(std::string_view text, std::string_view name) {
  std::string_view line;
  while (take_line(text, line)) {
    if (!line.starts_with("E:")) continue;
    line.remove_prefix(2);
    if (line.starts_with(name) && line.substr(name.size()).starts_with('=')) {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace dynolog
