// Decimal text to nanoseconds.
#include "traces/trace_time.h"

#include <cmath>

#include "base/ascii.h"
#include "base/number.h"

namespace dynolog {
namespace {

constexpr std::int64_t kNsPerUs = 1000;
constexpr std::size_t kSafeDigits = 15;  // of microseconds: as nanoseconds they fit in any case
constexpr std::int64_t kYear2001Ns = 1'000'000'000'000'000'000;

// Exponents and more digits than Kineto writes.
std::optional<std::int64_t> unusual(std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  const double ns = *value * static_cast<double>(kNsPerUs);
  if (std::abs(ns) > static_cast<double>(kMaxTraceNs)) return std::nullopt;
  return static_cast<std::int64_t>(ns);
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  const char* at = microseconds.data();
  const char* const end = at + microseconds.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  const char* const first = at;
  std::int64_t value = 0;
  while (at != end && is_digit(*at)) {
    if (static_cast<std::size_t>(at - first) > kSafeDigits) return unusual(microseconds);
    value = value * 10 + (*at++ - '0');
  }
  if (at == first) return std::nullopt;
  std::int64_t unit = kNsPerUs;
  if (at != end && *at == '.') {
    ++at;
    while (at != end && is_digit(*at)) {
      if (unit > 1) {
        value = value * 10 + (*at - '0');
        unit /= 10;
      }
      ++at;
    }
  }
  if (at != end) return unusual(microseconds);
  value *= unit;
  if (value > kMaxTraceNs) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::int64_t> wall_time(std::int64_t time, std::optional<std::int64_t> base) {
  if (!base) return time >= kYear2001Ns ? std::optional(time) : std::nullopt;
  std::int64_t sum = 0;
  if (__builtin_add_overflow(time, *base, &sum)) return std::nullopt;
  return sum;
}

}  // namespace dynolog
