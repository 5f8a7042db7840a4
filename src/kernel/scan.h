// Walking through /proc text: lines, words and numbers, without an allocation.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dynolog {

// The next line, without its newline; false at the end of the text.
[[nodiscard]] inline bool take_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const std::size_t newline = text.find('\n');
  line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  return true;
}

// Blanks, tabs and whatever control character there may be: one comparison.
[[nodiscard]] constexpr bool is_blank(char letter) {
  return static_cast<unsigned char>(letter) <= ' ';
}

// The next word between blanks; "" at the end.
[[nodiscard]] inline std::string_view take_word(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

// The next word as an unsigned number; nullopt, with the word taken, when it is none.
[[nodiscard]] inline std::optional<std::uint64_t> take_count(std::string_view& rest,
                                                             int base = 10) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::uint64_t value = 0;
  const char* const end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data() + begin, end, value, base);
  if (error != std::errc{} || (stop != end && !is_blank(*stop))) {
    (void)take_word(rest);
    return std::nullopt;
  }
  rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
  return value;
}

// The same for numbers that may be negative, as a value of a metric.
[[nodiscard]] inline std::optional<double> take_value(std::string_view& rest) {
  std::string_view before = rest;
  if (const auto count = take_count(rest)) return static_cast<double>(*count);
  const std::string_view word = take_word(before);
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || stop != end || word.empty()) return std::nullopt;
  return static_cast<double>(value);
}

// One number that is all there is in the text.
[[nodiscard]] inline std::optional<double> single_value(std::string_view text) {
  std::string_view line;
  if (!take_line(text, line)) return std::nullopt;
  return take_value(line);
}

}  // namespace dynolog
