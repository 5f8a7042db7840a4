// Parsers of what NFS counts: /proc/net/rpc/nfs and nfsd, and /proc/<pid>/mountstats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/number.h"
#include "kernel/scan.h"

namespace dynolog {

// As many numbers of a line as there are, up to N.
template <std::size_t N>
struct Numbers {
  std::array<std::uint64_t, N> values{};
  std::size_t count = 0;

  [[nodiscard]] std::optional<std::uint64_t> at(std::size_t i) const {
    return i < count ? std::optional(values[i]) : std::nullopt;
  }
};

template <std::size_t N>
[[nodiscard]] Numbers<N> take_numbers(std::string_view& rest) {
  Numbers<N> numbers;
  while (numbers.count < N) {
    const auto number = take_count(rest);
    if (!number) break;
    numbers.values[numbers.count++] = *number;
  }
  return numbers;
}

// Calls `visit(name, const Numbers&)` for each line: "net 70 70 69 45", "proc3 22 0 1 ...".
inline constexpr std::size_t kMaxRpcNumbers = 128;
template <class Visit>
void for_each_rpc_line(std::string_view text, Visit&& visit) {
  std::string_view line;
  while (take_line(text, line)) {
    const std::string_view name = take_word(line);
    if (!name.empty()) visit(name, take_numbers<kMaxRpcNumbers>(line));
  }
}

inline constexpr std::size_t kNfsEvents = 27;
inline constexpr std::size_t kNfsBytes = 8;
inline constexpr std::size_t kMaxNfsTransports = 16;

struct NfsTransport {
  std::string_view protocol;  // "tcp", "udp", "rdma"
  Numbers<20> numbers;
};

// Text is as the file has it: "\040" for a blank.
struct NfsMount {
  std::string_view device;
  std::string_view mount_point;
  std::string_view type;
  std::string_view address;  // of the server; "" when not told
  std::optional<std::uint64_t> age_s;
  Numbers<kNfsEvents> events;
  Numbers<kNfsBytes> bytes;
  std::array<NfsTransport, kMaxNfsTransports> transports;
  std::size_t transport_count = 0;
  std::string_view operations;  // lines for for_each_nfs_operation()
};

// requests, transmissions, major timeouts, bytes sent, bytes received; milliseconds queued, until
// the reply, in all; errors, on newer kernels.
inline constexpr std::size_t kNfsOperationNumbers = 9;
template <class Visit>
void for_each_nfs_operation(std::string_view lines, Visit&& visit) {
  constexpr std::size_t kLeast = 8;
  std::string_view line;
  while (take_line(lines, line)) {
    std::string_view name = take_word(line);
    if (!name.ends_with(':')) continue;
    name.remove_suffix(1);
    const auto numbers = take_numbers<kNfsOperationNumbers>(line);
    if (!name.empty() && numbers.count >= kLeast) visit(name, numbers);
  }
}

// The part of the file that one mount has, its first line first; "" at the end of the text.
[[nodiscard]] std::string_view take_mount_part(std::string_view& text);
// nullopt: it is of no NFS mount, or of one that has counted nothing yet.
[[nodiscard]] std::optional<NfsMount> parse_nfs_mount(std::string_view part);

template <class Visit>
void for_each_nfs_mount(std::string_view text, Visit&& visit) {
  for (auto part = take_mount_part(text); !part.empty(); part = take_mount_part(text)) {
    if (const auto mount = parse_nfs_mount(part)) visit(*mount);
  }
}

}  // namespace dynolog
