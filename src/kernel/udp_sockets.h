// /proc/net/udp, /proc/net/udp6: a line for each socket.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

struct UdpQueues {
  std::uint64_t sending = 0;   // bytes of all sockets
  std::uint64_t received = 0;  // bytes that nobody has read yet
};

// Sums up the queues; lines without any, such as the heading, count nothing.
[[nodiscard]] inline UdpQueues sum_udp_queues(std::string_view text) {
  UdpQueues queues;
  std::string_view line;
  constexpr int kHex = 16;
  while (take_line(text, line)) {
    // sl local_address rem_address st tx_queue:rx_queue
    for (int word = 0; word < 4; ++word) (void)take_word(line);
    std::string_view both = take_word(line);
    const std::size_t colon = both.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view send = both.substr(0, colon);
    std::string_view receive = both.substr(colon + 1);
    const auto sending = take_count(send, kHex);
    const auto received = take_count(receive, kHex);
    if (!sending || !received) continue;
    queues.sending += *sending;
    queues.received += *received;
  }
  return queues;
}

}  // namespace dynolog
