// /proc/interrupts.
#include "kernel/interrupts.h"

#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxCpus = 16384;

}  // namespace

bool take_interrupt_cpus(std::string_view& text, std::vector<std::uint32_t>& cpus) {
  cpus.clear();
  std::string_view heading;
  if (!take_line(text, heading)) return false;
  for (auto word = take_word(heading); !word.empty(); word = take_word(heading)) {
    if (!word.starts_with("CPU") || cpus.size() >= kMaxCpus) return false;
    const auto number = parse_number<std::uint32_t>(word.substr(3));
    if (!number) return false;
    cpus.push_back(*number);
  }
  return !cpus.empty();
}

bool take_interrupt_line(std::string_view& text, InterruptLine& line) {
  std::string_view whole;
  while (take_line(text, whole)) {
    const std::size_t colon = whole.find(':');
    if (colon == std::string_view::npos) continue;
    line.type = trim(whole.substr(0, colon));
    line.rest = whole.substr(colon + 1);
    if (!line.type.empty()) return true;
  }
  return false;
}

InterruptWords describe_interrupt(const InterruptLine& line, std::string_view after_numbers) {
  if (!line.is_numbered()) return {trim(after_numbers), {}};
  InterruptWords words{take_word(after_numbers), {}};
  for (auto word = take_word(after_numbers); !word.empty(); word = take_word(after_numbers)) {
    if (!words.devices.empty()) words.devices += ' ';
    words.devices += word;
  }
  return words;
}

}  // namespace dynolog
