// Parser of /proc/meminfo, and of the file of the same name of a NUMA node.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

struct MeminfoField {
  std::string_view name;        // as the kernel prints it: "Active(anon)"
  std::optional<double> value;  // bytes, or a number of pages; nullopt: it is no number
  bool is_bytes = false;
};

// "Active(anon)" -> "Active_anon": as names of metrics have it.
[[nodiscard]] std::string meminfo_field_name(std::string_view raw);

// Calls `visit(const MeminfoField&)` for each line "Name: 123 kB" or "Name: 123". Lines of a node
// begin with "Node 0 ". What is no such line is passed over.
template <class Visit>
void for_each_meminfo_field(std::string_view text, Visit&& visit) {
  std::string_view line;
  while (take_line(text, line)) {
    if (line.starts_with("Node ")) {
      line.remove_prefix(5);
      (void)take_word(line);
      while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) continue;
    MeminfoField field{.name = line.substr(0, colon), .value = {}};
    line.remove_prefix(colon + 1);
    field.value = take_value(line);
    field.is_bytes = take_word(line) == "kB";
    if (field.value && field.is_bytes) *field.value *= 1024;
    visit(static_cast<const MeminfoField&>(field));
  }
}

}  // namespace dynolog
