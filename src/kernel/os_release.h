// Parser of os-release: lines KEY="value".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dynolog {

// The key's value without its quotes and backslashes; "" when there is none.
[[nodiscard]] std::string os_release_value(std::string_view text, std::string_view key);

// "22.04.1" -> 22.04; "12" -> 12; nullopt when it does not begin with a number.
[[nodiscard]] std::optional<double> os_version_number(std::string_view version_id);

}  // namespace dynolog
