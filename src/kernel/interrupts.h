// Parser of /proc/interrupts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "kernel/scan.h"

namespace dynolog {

// The numbers of the CPUs in the heading "CPU0 CPU1 ...": online ones. Overwrites `cpus`, whose
// memory is used again. What follows the heading is left in `text`.
[[nodiscard]] bool take_interrupt_cpus(std::string_view& text, std::vector<std::uint32_t>& cpus);

// One line. The kernel numbers what devices raise, and names the rest: "LOC", "NMI".
struct InterruptLine {
  std::string_view type;
  std::string_view rest;  // numbers, then words: take_count() for each CPU, then describe()
  [[nodiscard]] bool is_numbered() const { return !type.empty() && is_digit(type.front()); }
};
[[nodiscard]] bool take_interrupt_line(std::string_view& text, InterruptLine& line);

// What follows the numbers. Numbered ones: "IO-APIC" and "5-edge ACPI:Ged", with one blank between
// words; named ones: all is info.
struct InterruptWords {
  std::string_view info;
  std::string devices;
};
[[nodiscard]] InterruptWords describe_interrupt(const InterruptLine& line,
                                                std::string_view after_numbers);

}  // namespace dynolog
