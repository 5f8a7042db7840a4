// UTC for people and for names.
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

std::string compact_utc(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y%m%d-%H%M%S}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

}  // namespace dynolog
