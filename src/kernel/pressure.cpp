// Pressure stall information.
#include "kernel/pressure.h"

#include <string>

#include "base/number.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

std::optional<std::uint64_t> total_of(std::string_view line) {
  constexpr std::string_view kTotal = "total=";
  for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word.starts_with(kTotal)) return parse_number<std::uint64_t>(word.substr(kTotal.size()));
  }
  return std::nullopt;
}

}  // namespace

Result<Pressure> parse_pressure(std::string_view text) {
  Pressure pressure;
  const std::string_view whole = text;
  std::string_view line;
  while (take_line(text, line)) {
    const std::string_view kind = take_word(line);
    if (kind == "some") pressure.some_us = total_of(line);
    if (kind == "full") pressure.full_us = total_of(line);
  }
  if (!pressure.some_us && !pressure.full_us) {
    return fail(ErrorKind::invalid,
                "pressure: no total in '" + std::string(whole.substr(0, 60)) + "'");
  }
  return pressure;
}

}  // namespace dynolog
