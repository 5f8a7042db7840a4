// Files of one process.
#include "kernel/process_usage.h"

#include <array>

#include "kernel/scan.h"

namespace dynolog {
namespace {

// "key: value" lines, as many of `keys` as there are.
template <std::size_t N>
std::array<std::optional<std::uint64_t>, N> values_of(std::string_view text,
                                                      const std::array<std::string_view, N>& keys) {
  std::array<std::optional<std::uint64_t>, N> values;
  std::string_view line;
  while (take_line(text, line)) {
    const std::string_view key = take_word(line);
    for (std::size_t i = 0; i < N; ++i) {
      if (key == keys[i]) values[i] = take_count(line);
    }
  }
  return values;
}

}  // namespace

std::optional<ProcessUsage> parse_process_usage(std::string_view stat) {
  const std::size_t parenthesis = stat.rfind(')');
  if (parenthesis == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(parenthesis + 1);
  const std::string_view state = take_word(stat);
  if (state.size() != 1) return std::nullopt;
  ProcessUsage usage;
  usage.state = state.front();
  // The fields from the parent's pid on; which of them is which.
  constexpr std::size_t kFields = 21;
  std::array<std::uint64_t, kFields> fields{};
  for (std::uint64_t& field : fields) {
    const auto value = take_value(stat);  // some are negative
    if (!value) return std::nullopt;
    field = *value < 0 ? 0 : static_cast<std::uint64_t>(*value);
  }
  usage.minor_faults = fields[6];
  usage.major_faults = fields[8];
  usage.user_ticks = fields[10];
  usage.system_ticks = fields[11];
  usage.threads = fields[16];
  usage.start_ticks = fields[18];
  usage.virtual_bytes = fields[19];
  usage.resident_pages = fields[20];
  return usage;
}

std::string_view process_name(std::string_view stat) {
  const std::size_t begin = stat.find('(');
  const std::size_t end = stat.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return stat.substr(begin + 1, end - begin - 1);
}

ProcessSwitches parse_process_switches(std::string_view status) {
  constexpr std::array<std::string_view, 2> kKeys = {"voluntary_ctxt_switches:",
                                                     "nonvoluntary_ctxt_switches:"};
  const auto values = values_of(status, kKeys);
  return {.voluntary = values[0], .involuntary = values[1]};
}

ProcessIo parse_process_io(std::string_view io) {
  constexpr std::array<std::string_view, 4> kKeys = {
      "read_bytes:", "write_bytes:", "rchar:", "wchar:"};
  const auto values = values_of(io, kKeys);
  return {.read_bytes = values[0],
          .written_bytes = values[1],
          .read_characters = values[2],
          .written_characters = values[3]};
}

}  // namespace dynolog
