// Units, blocks and times.
#include "cli/metric_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/number.h"

namespace dynolog {
namespace {

struct Scale {
  double factor;
  std::string_view prefix;
};
constexpr std::array kBinary{Scale{1024.0 * 1024 * 1024 * 1024, "Ti"},
                             Scale{1024.0 * 1024 * 1024, "Gi"}, Scale{1024.0 * 1024, "Mi"},
                             Scale{1024.0, "Ki"}};
constexpr std::array kDecimal{Scale{1e12, "T"}, Scale{1e9, "G"}, Scale{1e6, "M"}, Scale{1e3, "k"}};
constexpr std::array kSmall{Scale{1, ""}, Scale{1e-3, "m"}, Scale{1e-6, "u"}, Scale{1e-9, "n"}};

// Three digits that say something, no trailing zeros: 0, 1.23, 12.3, 123, 1234.
std::string digits(double value) {
  const double size = std::abs(value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  std::string text = fmt::format("{:.{}f}", value, size >= 10 ? 1 : 2);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

template <std::size_t N>
std::string scaled(double value, const std::array<Scale, N>& scales, std::string_view unit) {
  for (const Scale& scale : scales) {
    if (std::abs(value) >= scale.factor) {
      return fmt::format("{} {}{}", digits(value / scale.factor), scale.prefix, unit);
    }
  }
  return unit.empty() ? digits(value) : fmt::format("{} {}", digits(value), unit);
}

std::string seconds(double value) {
  if (value == 0) return "0 s";
  const double size = std::abs(value);
  if (size >= 86'400) return fmt::format("{} d", digits(value / 86'400));
  if (size >= 3600) return fmt::format("{} h", digits(value / 3600));
  for (const Scale& scale : kSmall) {
    if (size >= scale.factor * 0.9995) {
      return fmt::format("{} {}s", digits(value / scale.factor), scale.prefix);
    }
  }
  return fmt::format("{:.2g} s", value);
}

constexpr std::array<std::string_view, 8> kBlocks{"\u2581", "\u2582", "\u2583", "\u2584",
                                                  "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::string_view kLetters = "_.,-=+*#";

struct Bounds {
  double least = 0;
  double most = 0;
  bool any = false;
};

Bounds bounds_of(std::span<const std::optional<double>> values) {
  Bounds bounds;
  for (const auto& value : values) {
    if (!value) continue;
    bounds.least = bounds.any ? std::min(bounds.least, *value) : *value;
    bounds.most = bounds.any ? std::max(bounds.most, *value) : *value;
    bounds.any = true;
  }
  return bounds;
}

std::optional<double> mean_of(std::span<const std::optional<double>> values) {
  double sum = 0;
  double count = 0;
  for (const auto& value : values) {
    if (!value) continue;
    sum += *value;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// Takes a number of `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  const auto value = parse_number<unsigned>(text.substr(0, digits));
  if (!value || text.size() < digits) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<int>(*value);
}

bool take(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> parse_calendar(std::string_view text) {
  namespace chrono = std::chrono;
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  std::int64_t time = 0;
  if (take(text, 'T') || take(text, ' ')) {
    const auto hour = take_number(text, 2);
    if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
    const auto minute = take_number(text, 2);
    if (!minute || *minute > 59) return std::nullopt;
    time = *hour * 3600 + *minute * 60;
    if (take(text, ':')) {
      const auto second = take_number(text, 2);
      if (!second || *second > 60) return std::nullopt;
      time += *second;
    }
    take(text, 'Z');
  }
  const chrono::year_month_day date{chrono::year(*year),
                                    chrono::month(static_cast<unsigned>(*month)),
                                    chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || !text.empty()) return std::nullopt;
  const auto days = chrono::sys_days(date).time_since_epoch();
  return (chrono::duration_cast<chrono::seconds>(days).count() + time) * 1000;
}

}  // namespace

std::string readable(double value, std::string_view unit) {
  if (unit == "percent") return digits(value) + " %";
  if (unit == "seconds") return seconds(value);
  // A rate of seconds is a share of time.
  if (unit == "seconds/s") return digits(value) + " s/s";
  if (unit == "bytes") return scaled(value, kBinary, "B");
  if (unit == "bytes/s") return scaled(value, kBinary, "B/s");
  if (unit == "hertz") return scaled(value, kDecimal, "Hz");
  if (unit == "celsius") return digits(value) + " C";
  if (unit == "volts") return digits(value) + " V";
  if (unit == "watts") return scaled(value, kDecimal, "W");
  if (unit == "joules") return scaled(value, kDecimal, "J");
  if (unit == "joules/s") return scaled(value, kDecimal, "W");
  if (unit == "1/s" || unit == "operations/s" || unit == "packets/s") {
    return scaled(value, kDecimal, "/s");
  }
  if (unit == "operations" || unit == "packets" || unit.empty()) return scaled(value, kDecimal, "");
  return scaled(value, kDecimal, unit);
}

std::string sparkline(std::span<const std::optional<double>> values, std::size_t width, bool utf8) {
  const Bounds bounds = bounds_of(values);
  if (!bounds.any || width == 0) return "";
  const std::size_t columns = std::min(width, values.size());
  std::string line;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t begin = i * values.size() / columns;
    const std::size_t end = std::max(begin + 1, (i + 1) * values.size() / columns);
    const auto mean = mean_of(values.subspan(begin, end - begin));
    if (!mean) {
      line += ' ';
      continue;
    }
    const double range = bounds.most - bounds.least;
    const double height = range > 0 ? (*mean - bounds.least) / range : 0;
    const auto level = std::min(kBlocks.size() - 1, static_cast<std::size_t>(height * 8));
    if (utf8) {
      line += kBlocks[level];
    } else {
      line += kLetters[level];
    }
  }
  return line;
}

std::optional<std::int64_t> parse_length(std::string_view text) {
  struct Unit {
    std::string_view name;
    double milliseconds;
  };
  constexpr std::array kUnits{Unit{"ms", 1},        Unit{"s", 1000},       Unit{"m", 60'000},
                              Unit{"h", 3'600'000}, Unit{"d", 86'400'000}, Unit{"w", 604'800'000},
                              Unit{"min", 60'000},  Unit{"", 1000}};
  constexpr double kMost = 1e12;
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = parse_number<double>(text.substr(0, end));
    text.remove_prefix(end);
    const std::size_t next = std::min(text.find_first_of("0123456789."), text.size());
    const auto unit = std::ranges::find(kUnits, text.substr(0, next), &Unit::name);
    text.remove_prefix(next);
    if (!number || unit == kUnits.end()) return std::nullopt;
    total += *number * unit->milliseconds;
    if (total > kMost) return std::nullopt;
  }
  return static_cast<std::int64_t>(total);
}

std::optional<std::int64_t> parse_time(std::string_view text, WallTime now) {
  if (text == "now") return epoch_milliseconds(now);
  if (take(text, '-')) {
    const auto before = parse_length(text);
    if (!before) return std::nullopt;
    return epoch_milliseconds(now) - *before;
  }
  return parse_calendar(text);
}

}  // namespace dynolog
