// Addresses of unix sockets: paths, and abstract names, whose every byte counts.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace dynolog {

struct UnixAddress {
  sockaddr_un address{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// `name` is raw: a path, or an abstract name with its leading NUL. nullopt when it does not fit.
[[nodiscard]] inline std::optional<UnixAddress> unix_address(std::string_view name) {
  UnixAddress result;
  const bool abstract = !name.empty() && name.front() == '\0';
  // A path keeps room for its end.
  const std::size_t room = sizeof result.address.sun_path - (abstract ? 0 : 1);
  if (name.empty() || name.size() > room) return std::nullopt;
  result.address.sun_family = AF_UNIX;
  std::ranges::copy(name, result.address.sun_path);
  result.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  return result;
}

}  // namespace dynolog
