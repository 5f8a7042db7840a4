// How often a source is read.
#pragma once

#include <chrono>
#include <string_view>

namespace dynolog {

enum class Tier {
  fast,    // each tick (1 s): plain /proc text
  medium,  // 10 s: cgroups, cheap sysfs
  slow,    // 60 s: what reaches into firmware, other cores or mounts
};

[[nodiscard]] constexpr std::chrono::seconds least_period(Tier tier) {
  switch (tier) {
    case Tier::fast:
      return std::chrono::seconds(0);
    case Tier::medium:
      return std::chrono::seconds(10);
    case Tier::slow:
      return std::chrono::seconds(60);
  }
  return std::chrono::seconds(0);
}

[[nodiscard]] constexpr Tier next_slower(Tier tier) {
  return tier == Tier::fast ? Tier::medium : Tier::slow;
}

[[nodiscard]] constexpr std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::fast:
      return "1 s";
    case Tier::medium:
      return "10 s";
    case Tier::slow:
      return "60 s";
  }
  return "";
}

}  // namespace dynolog
