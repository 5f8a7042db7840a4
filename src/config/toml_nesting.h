// How deep a TOML text nests, before it is parsed: the parser builds, and takes down again, one
// level inside the other on the stack, and has a limit of its own for values only.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace dynolog {

// Options are flat, and a list is one level: this is far more than any file has that is meant.
inline constexpr std::size_t kMaxTomlNesting = 64;

// The number of the first line on which brackets, braces and the dots of keys, each inside the
// other, are more than kMaxTomlNesting; nullopt when there is none. What stands in strings and
// comments does not count. Of a text that is no TOML it only matters what stands before the fault.
[[nodiscard]] std::optional<std::size_t> line_nested_too_deep(std::string_view text);

}  // namespace dynolog
