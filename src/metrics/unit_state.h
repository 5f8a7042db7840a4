// A unit of systemd, as its reader found it.
#pragma once

#include <cstddef>
#include <string>

namespace dynolog {

inline constexpr std::size_t kMaxUnits = 64;
inline constexpr std::size_t kMaxUnitName = 255;  // systemd's own limit

struct UnitState {
  std::string name;
  std::string load;   // "loaded", "not-found", "masked", ...
  std::string state;  // "active", "failed", ...; of one that is loaded
  std::string type;   // of a service: "simple", "notify", ...; "" of others
  bool operator==(const UnitState&) const = default;
};

}  // namespace dynolog
