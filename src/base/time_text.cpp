// RFC 3339.
#include "base/time_text.h"

#include <fmt/chrono.h>

namespace dynolog {

std::string to_rfc3339(WallTime time) {
  const auto ms = std::chrono::floor<Milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(ms);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (ms - seconds).count());
}

}  // namespace dynolog
