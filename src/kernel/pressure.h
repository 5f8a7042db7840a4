// Parser of pressure stall information: /proc/pressure/*, and *.pressure of a cgroup.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace dynolog {

struct Pressure {
  std::optional<std::uint64_t> some_us;  // time in which some task waited
  std::optional<std::uint64_t> full_us;  // time in which all tasks waited
};

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull ...". An error without either line.
[[nodiscard]] Result<Pressure> parse_pressure(std::string_view text);

}  // namespace dynolog
