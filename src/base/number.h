// Numbers out of text: whole, in range, or nothing.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace dynolog {

// The whole of `text` as a number; nullopt when anything is left over or it does not fit.
template <class T>
  requires std::integral<T> || std::floating_point<T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

template <std::integral T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text, int base) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

}  // namespace dynolog
