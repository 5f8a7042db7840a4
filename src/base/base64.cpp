// Three bytes are four characters of six bits each.
#include "base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace dynolog {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kForeign = 0xff;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kForeign);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values.at(static_cast<std::uint8_t>(kAlphabet[i])) = static_cast<std::uint8_t>(i);
  }
  return values;
}();

std::uint32_t byte_at(std::string_view text, std::size_t place) {
  return place < text.size() ? static_cast<std::uint8_t>(text[place]) : 0U;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t bits =
        byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    text += kAlphabet[bits >> 18U];
    text += kAlphabet[bits >> 12U & 63U];
    text += i + 1 < bytes.size() ? kAlphabet[bits >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? kAlphabet[bits & 63U] : '=';
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  const auto broken = [] { return fail(ErrorKind::invalid, "not base64"); };
  if (text.size() % 4 != 0) return broken();
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t missing = i + 4 == text.size() ? padding : 0;
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const bool pad = j >= 4 - missing;
      const std::uint8_t value = pad ? 0 : kValues.at(static_cast<std::uint8_t>(text[i + j]));
      if (value == kForeign) return broken();
      bits = bits << 6U | value;
    }
    if ((bits & ((1U << (8 * missing)) - 1)) != 0) return broken();
    for (std::size_t j = 0; j < 3 - missing; ++j) {
      bytes += static_cast<char>(bits >> (16 - 8 * j) & 0xffU);
    }
  }
  return bytes;
}

}  // namespace dynolog
