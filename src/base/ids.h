// Strong types for what would otherwise be mixed-up numbers and strings.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace dynolog {

template <class Tag, class T>
struct StrongId {
  using value_type = T;
  T value{};
  auto operator<=>(const StrongId&) const = default;
};

// A pid in the daemon's own pid namespace ("host pid"), never one that a message claimed.
using Pid = StrongId<struct PidTag, std::int32_t>;
using Uid = StrongId<struct UidTag, std::uint32_t>;
// Schedulers' ids as they print them: "123_4.0", "456.server", "default/my-pod".
using JobId = StrongId<struct JobIdTag, std::string>;
// 64 random bits in hex: names a trace session, over the RPC and in the journal.
using SessionId = StrongId<struct SessionIdTag, std::string>;

inline constexpr Uid kRootUid{0};
// What the kernel reports for a user that has no mapping here: it is nobody in particular.
inline constexpr Uid kOverflowUid{65534};

}  // namespace dynolog

template <class Tag, class T>
struct std::hash<dynolog::StrongId<Tag, T>> {
  std::size_t operator()(const dynolog::StrongId<Tag, T>& id) const {
    return std::hash<T>{}(id.value);
  }
};
