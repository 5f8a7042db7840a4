// Letters and digits of ASCII, whatever the locale: what names, keys and formats are made of.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace dynolog {

[[nodiscard]] constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
[[nodiscard]] constexpr bool is_alpha(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
[[nodiscard]] constexpr bool is_alnum(char letter) { return is_alpha(letter) || is_digit(letter); }
// As hashes and ids are written: without capitals.
[[nodiscard]] constexpr bool is_lower_hex(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'f');
}

// An empty text is no number.
[[nodiscard]] constexpr bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

[[nodiscard]] constexpr char to_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered) letter = to_lower(letter);
  return lowered;
}

}  // namespace dynolog
