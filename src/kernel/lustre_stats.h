// Parsers of what a Lustre client counts: the files `stats` of llite, osc and mdc, and `import` of
// the latter two.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

// "read_bytes  4 samples [bytes] 4096 1048576 3149824": of some kinds the samples only are counted.
struct LustreCounter {
  std::string_view name;
  std::string_view unit;  // "bytes", "usec", "regs", "reqs"
  std::uint64_t samples = 0;
  std::optional<std::uint64_t> minimum;
  std::optional<std::uint64_t> maximum;
  std::optional<std::uint64_t> sum;
};

// nullopt: the line is none of a counter, as that of the snapshot's time.
[[nodiscard]] std::optional<LustreCounter> parse_lustre_counter(std::string_view line);

template <class Visit>
void for_each_lustre_counter(std::string_view text, Visit&& visit) {
  std::string_view line;
  while (take_line(text, line)) {
    if (const auto counter = parse_lustre_counter(line)) visit(*counter);
  }
}

// The client's connection to one target, which is a disk or metadata server's.
struct LustreImport {
  std::string_view state;  // "FULL", "IDLE", "DISCONN", "EVICTED", ...; "" when not told
  std::optional<std::uint64_t> connection_attempts;
  std::optional<std::uint64_t> in_flight;
  std::optional<std::uint64_t> timeouts;
  // An idle connection is closed by the client itself, and made anew when it is needed.
  [[nodiscard]] bool is_usable() const { return state == "FULL" || state == "IDLE"; }
};

// What is missing in the text is missing in the result: kernels differ, and the text of some has
// bytes that are none of a text's.
[[nodiscard]] LustreImport parse_lustre_import(std::string_view text);

}  // namespace dynolog
