// Text of an option's value into its type, each error saying what is allowed; and back into TOML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/option_table.h"

namespace dynolog {

inline constexpr std::size_t kMaxListItems = 256;
inline constexpr std::size_t kMaxTextValue = 4096;

// gflags' words for a boolean: true/false, yes/no, t/f, y/n, 1/0.
[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);

[[nodiscard]] Result<std::int64_t> integer_value(const Values& values, std::int64_t least,
                                                 std::int64_t most);
[[nodiscard]] Result<bool> flag_value(const Values& values);
// UTF-8 without control characters, at most `max_bytes`.
[[nodiscard]] Result<std::string> text_value(const Values& values, std::size_t max_bytes);
// No empty and no repeated items.
[[nodiscard]] Result<std::vector<std::string>> list_value(const Values& values);
// An IPv4 or IPv6 address; "localhost" and "" are "", which means both loopbacks.
[[nodiscard]] Result<std::string> address_value(const Values& values);
[[nodiscard]] bool is_loopback(const std::string& address);

[[nodiscard]] std::string toml_text(std::string_view text);
[[nodiscard]] std::string toml_list(const std::vector<std::string>& items);

}  // namespace dynolog
