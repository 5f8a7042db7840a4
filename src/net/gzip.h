// A text as a gzip member.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

// Quick rather than small: pages of figures shrink to a tenth all the same.
[[nodiscard]] Result<std::string> gzip(std::string_view text);

}  // namespace dynolog
