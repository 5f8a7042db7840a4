// Cleaning, trimming, splitting, and the nearest word.
#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace dynolog {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // 0: not valid UTF-8 here
};

CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t length = 0;
  std::uint32_t value = 0;
  if ((first & 0xE0U) == 0xC0) {
    length = 2;
    value = first & 0x1FU;
  } else if ((first & 0xF0U) == 0xE0) {
    length = 3;
    value = first & 0x0FU;
  } else if ((first & 0xF8U) == 0xF0) {
    length = 4;
    value = first & 0x07U;
  } else {
    return {};
  }
  if (text.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

bool is_control(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0x2028 || value == 0x2029 ||
         (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
}

}  // namespace

bool is_clean(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode(text);
    if (point.length == 0 || is_control(point.value)) return false;
    text.remove_prefix(point.length);
  }
  return true;
}

std::string clean_text(std::string_view raw, std::size_t max_bytes) {
  constexpr std::string_view kCut = "...";
  std::string clean;
  clean.reserve(std::min(raw.size(), max_bytes));
  while (!raw.empty()) {
    const CodePoint point = decode(raw);
    const bool keep = point.length > 0 && !is_control(point.value);
    const std::size_t consumed = point.length > 0 ? point.length : 1;
    const std::string_view piece = keep ? raw.substr(0, consumed) : kReplacement;
    if (clean.size() + piece.size() > max_bytes) {
      const std::size_t room = max_bytes > kCut.size() ? max_bytes - kCut.size() : 0;
      while (clean.size() > room) {
        // Take whole code points off the end.
        do {
          const bool continuation = (static_cast<unsigned char>(clean.back()) & 0xC0U) == 0x80;
          clean.pop_back();
          if (!continuation) break;
        } while (!clean.empty());
      }
      clean += kCut.substr(0, max_bytes);
      break;
    }
    clean += piece;
    raw.remove_prefix(consumed);
  }
  return clean;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const auto end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t change = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace dynolog
