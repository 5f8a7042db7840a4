// Parser of /proc/loadavg.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace dynolog {

struct ProcLoadavg {
  double one = 0;      // over 1 minute
  double five = 0;     // over 5
  double fifteen = 0;  // over 15
  std::uint64_t runnable = 0;
  std::uint64_t threads = 0;  // all scheduling entities of the host
};

[[nodiscard]] Result<ProcLoadavg> parse_proc_loadavg(std::string_view text);

}  // namespace dynolog
