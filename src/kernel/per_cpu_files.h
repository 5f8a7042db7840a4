// Parsers of files with a line for each CPU: /proc/net/softnet_stat, /proc/schedstat, and the
// tables of /proc/net/stat.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/number.h"
#include "kernel/scan.h"

namespace dynolog {

struct SoftnetLine {
  std::uint64_t cpu = 0;
  std::uint64_t processed = 0;  // all of 32 bits: they wrap
  std::uint64_t dropped = 0;
  std::uint64_t squeezed = 0;
  std::optional<std::uint64_t> received_rps;
  std::optional<std::uint64_t> flow_limit;
  std::optional<std::uint64_t> backlog;
};

// Hexadecimal columns. Kernels before 5.10 print no CPU number: then it is the line's.
template <class Visit>
void for_each_softnet(std::string_view text, Visit&& visit) {
  constexpr std::size_t kColumns = 13;
  std::string_view line;
  for (std::uint64_t number = 0; take_line(text, line); ++number) {
    std::array<std::optional<std::uint64_t>, kColumns> columns;
    for (auto& column : columns) column = take_count(line, 16);
    if (!columns[0] || !columns[1] || !columns[2]) continue;
    visit(SoftnetLine{columns[12].value_or(number), *columns[0], *columns[1], *columns[2],
                      columns[9], columns[10], columns[11]});
  }
}

struct SchedstatLine {
  std::uint64_t cpu = 0;
  std::uint64_t running_ns = 0;
  std::uint64_t waiting_ns = 0;
  std::uint64_t timeslices = 0;
};

// Lines "cpu0 n n n n n n running waiting timeslices"; domains' lines are passed over.
template <class Visit>
void for_each_schedstat_cpu(std::string_view text, Visit&& visit) {
  constexpr std::size_t kColumns = 9;
  std::string_view line;
  while (take_line(text, line)) {
    if (!line.starts_with("cpu")) continue;
    const auto cpu = parse_number<std::uint64_t>(take_word(line).substr(3));
    std::array<std::optional<std::uint64_t>, kColumns> columns;
    for (auto& column : columns) column = take_count(line);
    if (!cpu || !columns[6] || !columns[7] || !columns[8]) continue;
    visit(SchedstatLine{*cpu, *columns[6], *columns[7], *columns[8]});
  }
}

// A heading of names, then a line of hexadecimal numbers for each CPU. Calls
// `visit(name, number)` for each number: the caller sums over the CPUs.
template <class Visit>
void for_each_hex_column(std::string_view text, Visit&& visit) {
  std::string_view heading;
  if (!take_line(text, heading)) return;
  std::string_view line;
  while (take_line(text, line)) {
    std::string_view names = heading;
    for (auto name = take_word(names); !name.empty(); name = take_word(names)) {
      const auto value = take_count(line, 16);
      if (!value) break;
      visit(name, *value);
    }
  }
}

}  // namespace dynolog
