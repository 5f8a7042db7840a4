// What a metric is, as constexpr data beside the collector that emits it: kind, unit, labels, help,
// and its name in each naming scheme. No code parses a metric's name.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
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

struct LabelKey {
  std::string_view key{};   // as node_exporter and its kind say it
  std::string_view otlp{};  // as OpenTelemetry says it; "": the same
};

// A metric's label keys: a few, kept here, or many, in a constexpr array elsewhere.
class LabelKeys {
 public:
  constexpr LabelKeys() = default;
  constexpr LabelKeys(std::initializer_list<LabelKey> few) : size_(few.size()) {
    std::size_t i = 0;
    for (const LabelKey& label : few) few_[i++] = label;  // too many do not compile
  }
  constexpr explicit LabelKeys(std::span<const LabelKey> many) : many_(many), size_(many.size()) {}

  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  constexpr const LabelKey& operator[](std::size_t i) const {
    return many_.empty() ? few_[i] : many_[i];
  }

 private:
  static constexpr std::size_t kFew = 4;
  std::array<LabelKey, kFew> few_{};
  std::span<const LabelKey> many_{};
  std::size_t size_ = 0;
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
  // Prometheus: the family that this is a part of, as "x" is that of a histogram's "x_bucket"; "":
  // it is its own.
  std::string_view family{};
};

// How a counter may go down without having been reset.
struct CounterTraits {
  unsigned bits = 0;          // 32 or 64: it wraps there; 0: it never does
  double backward_slack = 0;  // small steps back are the kernel's noise (idle and iowait time)
  double scale = 1;           // a value is what the kernel counts, which wraps, times this
  bool of_daemon = false;     // it began with the daemon, not with the host
};

struct MetricDescriptor {
  std::string_view id{};  // "cpu.time": unique, dotted, the field's own words
  MetricKind kind = MetricKind::gauge;
  Unit unit = Unit::none;
  std::string_view help{};    // one line, a sentence without a full stop
  std::string_view source{};  // "/proc/stat"
  LabelKeys labels{};
  CounterTraits counter{};
  SchemeName prometheus{};
  SchemeName otlp{};
  // JSON lines and relay: a counter as its increase per interval, anything else as it is. "": not
  // offered there, or only as part of a sum or share (metrics/interval_names.h).
  SchemeName json{};
  // A sink that reports less often than is read says the mean of a gauge's readings. Not of this
  // one: a time, a bit mask, an identifier, whose newest reading counts.
  bool newest_only = false;
};

[[nodiscard]] constexpr MetricDescriptor newest_only(MetricDescriptor descriptor) {
  descriptor.newest_only = true;
  return descriptor;
}

[[nodiscard]] constexpr std::size_t label_count(const MetricDescriptor& descriptor) {
  return descriptor.labels.size();
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
