// Parser of /proc/net/dev.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

// In the kernel's column order.
enum class NetDevField : std::uint8_t {
  receive_bytes,
  receive_packets,
  receive_errors,
  receive_drops,
  receive_fifo,
  receive_frame,
  receive_compressed,
  receive_multicast,
  transmit_bytes,
  transmit_packets,
  transmit_errors,
  transmit_drops,
  transmit_fifo,
  transmit_collisions,
  transmit_carrier,
  transmit_compressed,
};
inline constexpr std::size_t kNetDevFields = 16;

struct NetDevLine {
  std::string_view name;
  std::array<std::uint64_t, kNetDevFields> values{};
};

// Calls `visit(const NetDevLine&)` for each line "eth0: 1 2 ..." with all its numbers; the two
// headings, which have no colon, and what is no such line are passed over.
template <class Visit>
void for_each_net_dev(std::string_view text, Visit&& visit) {
  std::string_view line;
  while (take_line(text, line)) {
    // The last one: a name may hold colons (eth0:1), and numbers none.
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    NetDevLine device;
    device.name = line.substr(0, colon);
    while (!device.name.empty() && is_blank(device.name.front())) device.name.remove_prefix(1);
    line.remove_prefix(colon + 1);
    std::size_t count = 0;
    while (count < kNetDevFields) {
      const auto value = take_count(line);
      if (!value) break;
      device.values[count++] = *value;
    }
    if (count == kNetDevFields && !device.name.empty()) {
      visit(static_cast<const NetDevLine&>(device));
    }
  }
}

}  // namespace dynolog
