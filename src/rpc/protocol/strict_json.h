// Parsing JSON that a stranger wrote. For the .cpp files of this folder only.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace dynolog::rpc {

// More values than any message of ours holds: a bound on what a text may unfold to in memory. The
// list of a big host's processes is the largest; a text of a request's size holds far fewer.
inline constexpr std::size_t kMaxJsonValues = 2'000'000;
inline constexpr std::size_t kMaxRequestValues = 120'000;
inline constexpr std::size_t kMaxRequestText = 1U << 20U;  // as net/framing.h has it

// An object, at most kMaxJsonDepth deep, without duplicate keys and without numbers that do not fit
// a double. Anything else is an error (invalid) that says what is wrong; the text is read once and
// without recursion.
[[nodiscard]] Result<std::unique_ptr<nlohmann::json>> parse_object(std::string_view text);

// The string member "fn" of a request. The whole text is read and checked for its form, but nothing
// of it is built: what a stranger sends costs little before it is known what it asks for.
[[nodiscard]] Result<std::string> function_of(std::string_view text);

}  // namespace dynolog::rpc
