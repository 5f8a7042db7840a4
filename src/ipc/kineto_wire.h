// Kineto's datagrams, decoded in one bounds-checked place. Layout and source:
// libkineto's ipcfabric (native structs, little-endian).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace dynolog {

// The most a client sends: header 40, type and count and job 16, 11 pids of 4; with room for more.
inline constexpr std::size_t kMaxKinetoDatagram = 4096;
inline constexpr std::size_t kMaxKinetoPids = 64;
// Kineto reads what `size` says; a configuration stays well under a datagram of the default
// buffers.
inline constexpr std::size_t kMaxKinetoReply = 64U << 10U;

// "req": asks for a configuration and so registers.
struct KinetoPoll {
  bool idle = true;  // bit 0x2 of the type: free to take an activity trace
  std::int32_t type = 0;
  std::int64_t job = 0;
  std::vector<std::int32_t>
      pids;  // own first, then ancestors; in the process's namespace; may be empty
};

// "ctxt" of old clients: answered with an int32 (the count of processes on that device), no more.
struct KinetoContext {
  std::int32_t gpu = 0;
  std::int32_t pid = 0;
  std::int64_t job = 0;
};

using KinetoMessage = std::variant<KinetoPoll, KinetoContext>;

// An error (kind invalid) says what is malformed: "empty", "shorter than a header", "size says 100,
// 16 came", "count -1", "unknown type".
[[nodiscard]] Result<KinetoMessage> decode_kineto(std::span<const std::byte> datagram);

// A whole reply datagram; `config` may be empty (a bare header of 40 bytes).
[[nodiscard]] std::string encode_kineto_reply(std::string_view config);
[[nodiscard]] std::string encode_kineto_context_reply(std::int32_t count);

}  // namespace dynolog
