// Parser of files of lines "name value": /proc/vmstat, a NUMA node's numastat.
#pragma once

#include <optional>
#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

// Calls `visit(name, std::optional<double> value)` for each line; nullopt: it is no number.
template <class Visit>
void for_each_key_value(std::string_view text, Visit&& visit) {
  std::string_view line;
  while (take_line(text, line)) {
    const std::string_view name = take_word(line);
    if (!name.empty()) visit(name, take_value(line));
  }
}

}  // namespace dynolog
