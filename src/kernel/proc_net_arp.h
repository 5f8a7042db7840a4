// Parser of /proc/net/arp.
#pragma once

#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

// Calls `visit(device)` for each entry of the table, whatever its state.
template <class Visit>
void for_each_arp_entry(std::string_view text, Visit&& visit) {
  constexpr int kColumnsBeforeDevice = 5;
  std::string_view line;
  if (!take_line(text, line)) return;  // the heading
  while (take_line(text, line)) {
    for (int i = 0; i < kColumnsBeforeDevice; ++i) (void)take_word(line);
    const std::string_view device = take_word(line);
    if (!device.empty()) visit(device);
  }
}

}  // namespace dynolog
