// Bytes as text (RFC 4648 base64, padded): for pieces of files inside JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

[[nodiscard]] std::string to_base64(std::string_view bytes);

// Strict: an error (invalid) for a length that is no multiple of 4, a foreign character (line ends
// too), padding in the wrong place, and bits that nothing encodes to.
[[nodiscard]] Result<std::string> from_base64(std::string_view text);

}  // namespace dynolog
