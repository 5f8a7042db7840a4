// What a metric is, as constexpr data beside the collector that emits it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace dynolog {

enum class MetricKind { counter, gauge, ratio, info };
enum class Unit {
  none, seconds, bytes, hertz, celsius, volts, watts, joules, rpm, percent, packets, operations,
};

inline constexpr std::size_t kMaxLabels = 6;

// One row of a scheme's naming: the family's name there, and a type that overrides the kind.
struct SchemeName {
  std::string_view name;           // "": this scheme does not offer it
  std::string_view type_override;  // e.g. "untyped"
};

struct MetricDescriptor {
  std::string_view id;  // "cpu.time": unique, dotted, the field's own words
  MetricKind kind = MetricKind::gauge;
  Unit unit = Unit::none;
  std::string_view help;                           // one line
  std::array<std::string_view, kMaxLabels> label_keys{};  // "" ends the list
  std::string_view source;                         // "/proc/stat"
  SchemeName prometheus;
  SchemeName otlp;
  // JSON lines and relay: derived per interval by the sink, under the names that dynolog users know;
  // "" when a sum or share of several series (the sink's table says which).
  SchemeName json;
};

[[nodiscard]] constexpr std::size_t label_count(const MetricDescriptor& descriptor) {
  std::size_t count = 0;
  while (count < kMaxLabels && !descriptor.label_keys[count].empty()) ++count;
  return count;
}

}  // namespace dynolog
