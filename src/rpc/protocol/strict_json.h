// Parsing JSON that a stranger wrote. For the .cpp files of this folder only.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace dynolog::rpc {

// More values than any message of ours holds: a bound on what a text may unfold to in memory.
inline constexpr std::size_t kMaxJsonValues = 2'000'000;

// An object, at most kMaxJsonDepth deep, without duplicate keys and without numbers that do not fit
// a double. Anything else is an error (invalid) that says what is wrong; the text is read once and
// without recursion.
[[nodiscard]] Result<std::unique_ptr<nlohmann::json>> parse_object(std::string_view text);

}  // namespace dynolog::rpc
