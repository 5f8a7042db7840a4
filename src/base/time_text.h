// Times as text.
#pragma once

#include <string>

#include "base/clock.h"

namespace dynolog {

// RFC 3339 in UTC with milliseconds: 2026-07-21T23:42:34.141Z.
[[nodiscard]] std::string to_rfc3339(WallTime time);

// UTC in whole seconds, as names of files have it: 20260721-234234Z.
[[nodiscard]] std::string compact_utc(WallTime time);

}  // namespace dynolog
