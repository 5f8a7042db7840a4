// Option values: parsing with limits, and TOML literals.
#include "config/values.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

// clean_text() changes whatever a terminal, a label or a TOML file could not carry.
Status check_text(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return fail(ErrorKind::invalid, fmt::format("must be at most {} bytes long", max_bytes));
  }
  if (clean_text(text, max_bytes) != text) {
    return fail(ErrorKind::invalid, "must be UTF-8 without control characters");
  }
  return {};
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  const std::string word = lower(text);
  constexpr std::array kYes{"true", "t", "yes", "y", "1"};
  constexpr std::array kNo{"false", "f", "no", "n", "0"};
  if (std::ranges::find(kYes, word) != kYes.end()) return true;
  if (std::ranges::find(kNo, word) != kNo.end()) return false;
  return std::nullopt;
}

Result<std::int64_t> integer_value(const Values& values, std::int64_t least, std::int64_t most) {
  const auto number = parse_number<std::int64_t>(values.back());
  if (!number || *number < least || *number > most) {
    return fail(ErrorKind::invalid,
                fmt::format("must be a whole number from {} to {}", least, most));
  }
  return *number;
}

Result<bool> flag_value(const Values& values) {
  const auto flag = parse_bool(values.back());
  if (!flag) return fail(ErrorKind::invalid, "must be true or false");
  return *flag;
}

Result<std::string> text_value(const Values& values, std::size_t max_bytes) {
  if (auto good = check_text(values.back(), max_bytes); !good) return std::unexpected(good.error());
  return values.back();
}

Result<std::vector<std::string>> list_value(const Values& values) {
  // `--list=` empties what a file has set.
  if (values.size() == 1 && values.front().empty()) return std::vector<std::string>{};
  if (values.size() > kMaxListItems) {
    return fail(ErrorKind::invalid, fmt::format("must be at most {} items", kMaxListItems));
  }
  std::vector<std::string> items;
  for (const std::string& value : values) {
    if (value.empty()) return fail(ErrorKind::invalid, "has an empty item");
    if (auto good = check_text(value, kMaxTextValue); !good) return std::unexpected(good.error());
    if (std::ranges::find(items, value) == items.end()) items.push_back(value);
  }
  return items;
}

Result<std::string> address_value(const Values& values) {
  const std::string& text = values.back();
  if (text.empty() || text == "localhost") return std::string();
  in6_addr buffer{};
  if (::inet_pton(AF_INET, text.c_str(), &buffer) == 1) return text;
  if (::inet_pton(AF_INET6, text.c_str(), &buffer) == 1) return text;
  return fail(ErrorKind::invalid,
              "must be an IPv4 or IPv6 address (0.0.0.0 or :: is every one of this host)");
}

bool is_loopback(const std::string& address) {
  if (address.empty()) return true;
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24U == 127;
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&six)) return six.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&six);
}

std::string toml_text(std::string_view text) {
  std::string literal = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') literal += '\\';
    literal += letter;
  }
  return literal + '"';
}

std::string toml_list(const std::vector<std::string>& items) {
  std::vector<std::string> literals;
  for (const std::string& item : items) literals.push_back(toml_text(item));
  return fmt::format("[{}]", fmt::join(literals, ", "));
}

}  // namespace dynolog
