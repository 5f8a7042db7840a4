// Lists of CPUs or nodes as the kernel writes them: "0-3,8,10-11".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {

// Calls `visit(std::uint32_t)` for each number, at most 16384 of them; what is no range is passed
// over.
template <class Visit>
void for_each_in_cpu_list(std::string_view list, Visit&& visit) {
  constexpr std::uint32_t kMost = 16384;
  std::uint32_t visited = 0;
  list = trim(list);
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view range = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    const std::size_t dash = range.find('-');
    const auto first = parse_number<std::uint32_t>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_number<std::uint32_t>(range.substr(dash + 1));
    if (!first || !last) continue;
    for (std::uint64_t number = *first; number <= *last; ++number) {
      if (visited++ == kMost) return;
      visit(static_cast<std::uint32_t>(number));
    }
  }
}

}  // namespace dynolog
