// What a metric is, as constexpr data beside the collector that emits it: kind, unit, labels, help,
// and its name in each naming scheme. No code parses a metric's name.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace dynolog {

enum class MetricKind { counter, gauge, ratio, info };
enum class Unit {
  none,
  seconds,
  bytes,
  hertz,
  celsius,
  volts,
  watts,
  joules,
  rpm,
  percent,
  packets,
  operations,
};

inline constexpr std::size_t kMaxLabels = 6;

struct LabelKey {
  std::string_view key{};   // as node_exporter and its kind say it; "" ends the list
  std::string_view otlp{};  // as OpenTelemetry says it; "": the same
};

// A metric's name in one scheme. A label's key in braces folds its value into the name, and it is
// no label there: "node_memory_{field}_bytes", "rx_bytes.{device}".
struct SchemeName {
  std::string_view name{};           // "": this scheme does not offer it
  std::string_view type_override{};  // e.g. "untyped", where the scheme's users expect it
  // One more label with a fixed value, where two metrics of ours are one family of the scheme:
  // system.network.io with network.io.direction = receive.
  std::string_view fixed_key{};
  std::string_view fixed_value{};
};

// How a counter may go down without having been reset.
struct CounterTraits {
  unsigned bits = 0;          // 32 or 64: it wraps there; 0: it never does
  double backward_slack = 0;  // small steps back are the kernel's noise (idle and iowait time)
};

struct MetricDescriptor {
  std::string_view id{};  // "cpu.time": unique, dotted, the field's own words
  MetricKind kind = MetricKind::gauge;
  Unit unit = Unit::none;
  std::string_view help{};    // one line, a sentence without a full stop
  std::string_view source{};  // "/proc/stat"
  std::array<LabelKey, kMaxLabels> labels{};
  CounterTraits counter{};
  SchemeName prometheus{};
  SchemeName otlp{};
  // JSON lines and relay: a counter as its increase per interval, anything else as it is. "": not
  // offered there, or only as part of a sum or share (metrics/interval_names.h).
  SchemeName json{};
};

[[nodiscard]] constexpr std::size_t label_count(const MetricDescriptor& descriptor) {
  std::size_t count = 0;
  while (count < kMaxLabels && !descriptor.labels[count].key.empty()) ++count;
  return count;
}

[[nodiscard]] constexpr std::string_view to_string(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter:
      return "counter";
    case MetricKind::gauge:
      return "gauge";
    case MetricKind::ratio:
      return "ratio";
    case MetricKind::info:
      return "info";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view to_string(Unit unit) {
  constexpr std::string_view kNames[] = {"",        "seconds", "bytes",   "hertz",
                                         "celsius", "volts",   "watts",   "joules",
                                         "rpm",     "percent", "packets", "operations"};
  return kNames[static_cast<std::size_t>(unit)];
}

}  // namespace dynolog
