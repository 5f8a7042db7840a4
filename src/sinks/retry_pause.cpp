// Doubling, and what was asked for.
#include "sinks/retry_pause.h"

#include <algorithm>

namespace dynolog {

RetryPause::RetryPause(milliseconds first, milliseconds last, milliseconds longest)
    : first_(first), last_(last), longest_(longest), pause_(first) {}

RetryPause::milliseconds RetryPause::next(std::optional<milliseconds> asked, std::int64_t share) {
  const milliseconds own(std::max<std::int64_t>(pause_.count() * share / 1000, 1));
  pause_ = std::min(2 * pause_, last_);
  return std::max(own, std::min(asked.value_or(milliseconds(0)), longest_));
}

}  // namespace dynolog
