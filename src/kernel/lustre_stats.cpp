// Lines of Lustre's files.
#include "kernel/lustre_stats.h"

namespace dynolog {

std::optional<LustreCounter> parse_lustre_counter(std::string_view line) {
  LustreCounter counter;
  counter.name = take_word(line);
  const auto samples = take_count(line);
  if (!samples || take_word(line) != "samples") return std::nullopt;
  const std::string_view unit = take_word(line);
  if (unit.size() < 3 || unit.front() != '[' || unit.back() != ']') return std::nullopt;
  counter.samples = *samples;
  counter.unit = unit.substr(1, unit.size() - 2);
  counter.minimum = take_count(line);
  if (counter.minimum) counter.maximum = take_count(line);
  if (counter.maximum) counter.sum = take_count(line);
  return counter;
}

LustreImport parse_lustre_import(std::string_view text) {
  LustreImport import;
  std::string_view line;
  while (take_line(text, line)) {
    const std::string_view key = take_word(line);
    if (key == "state:") {
      import.state = take_word(line);
    } else if (key == "connection_attempts:") {
      import.connection_attempts = take_count(line);
    } else if (key == "inflight:") {
      import.in_flight = take_count(line);
    } else if (key == "timeouts:") {
      import.timeouts = take_count(line);
    }
  }
  return import;
}

}  // namespace dynolog
