// Parser of /proc/diskstats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

// In the kernel's column order. Sectors are of 512 bytes, whatever the device's are.
enum class DiskField : std::uint8_t {
  reads,
  reads_merged,
  sectors_read,
  read_ms,
  writes,
  writes_merged,
  sectors_written,
  write_ms,
  in_flight,
  io_ms,
  weighted_io_ms,
  discards,
  discards_merged,
  sectors_discarded,
  discard_ms,
  flushes,
  flush_ms,
};
inline constexpr std::size_t kDiskFields = 17;

struct DiskLine {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::string_view name;
  std::array<std::uint64_t, kDiskFields> values{};
  std::size_t count = 0;  // columns that this kernel prints: 11, 15 or 17
};

// Calls `visit(const DiskLine&)` for each line with a name and at least 11 numbers; what is no such
// line is passed over. More columns than we know are a newer kernel's.
template <class Visit>
void for_each_disk(std::string_view text, Visit&& visit) {
  constexpr std::size_t kLeastFields = 11;
  std::string_view line;
  while (take_line(text, line)) {
    DiskLine disk;
    const auto major = take_count(line);
    const auto minor = take_count(line);
    disk.name = take_word(line);
    if (!major || !minor || disk.name.empty()) continue;
    disk.major = *major;
    disk.minor = *minor;
    while (disk.count < kDiskFields) {
      const auto value = take_count(line);
      if (!value) break;
      disk.values[disk.count++] = *value;
    }
    if (disk.count >= kLeastFields) visit(static_cast<const DiskLine&>(disk));
  }
}

}  // namespace dynolog
