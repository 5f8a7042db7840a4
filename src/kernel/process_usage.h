// Parsers of what a process uses: /proc/<pid>/stat, status and io.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dynolog {

struct ProcessUsage {
  char state = '?';  // R, S, D, T, t, Z, X, I
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;  // with I/O
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;  // since boot: with the pid it names a process
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_pages = 0;
};
// The name in it may hold anything: what counts is the last ')'. nullopt: it is none.
[[nodiscard]] std::optional<ProcessUsage> parse_process_usage(std::string_view stat);

// The name of the main thread, as stat has it: between the first '(' and the last ')'.
[[nodiscard]] std::string_view process_name(std::string_view stat);

struct ProcessSwitches {
  std::optional<std::uint64_t> voluntary;
  std::optional<std::uint64_t> involuntary;
};
[[nodiscard]] ProcessSwitches parse_process_switches(std::string_view status);

// Of storage, and of all that was read and written, the page cache's and pipes' included.
struct ProcessIo {
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;
  std::optional<std::uint64_t> read_characters;
  std::optional<std::uint64_t> written_characters;
};
[[nodiscard]] ProcessIo parse_process_io(std::string_view io);

}  // namespace dynolog
