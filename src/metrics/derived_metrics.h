// Figures that people ask for by name and that no collector emits: shares, differences and sums of
// rates. Computed when somebody queries; never stored. Counters count as their rate per second.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "metrics/descriptor.h"

namespace dynolog {

// The series of one metric, or those whose label `key` has the value `value`, times `factor`.
struct DerivedTerm {
  std::string_view metric{};
  std::string_view key{};  // "": all of its series
  std::string_view value{};
  double factor = 1;
};

class DerivedTerms {
 public:
  constexpr DerivedTerms() = default;
  constexpr DerivedTerms(std::initializer_list<DerivedTerm> terms) : size_(terms.size()) {
    std::size_t i = 0;
    for (const DerivedTerm& term : terms) terms_[i++] = term;  // too many do not compile
  }
  [[nodiscard]] constexpr const DerivedTerm* begin() const { return terms_.data(); }
  [[nodiscard]] constexpr const DerivedTerm* end() const { return terms_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }

 private:
  std::array<DerivedTerm, 3> terms_{};
  std::size_t size_ = 0;
};

// scale x (sum of the terms above) / (sum of the terms below), for each value of the label `by`.
struct DerivedMetric {
  std::string_view name{};
  std::string_view unit{};
  std::string_view help{};
  std::string_view by{};  // "": one figure for the host
  DerivedTerms above{};
  DerivedTerms below{};         // none: 1
  bool below_is_whole = false;  // of the host, whatever `by` is
  double scale = 1;
  bool is_age = false;  // the terms above are a time since the epoch: the seconds from then on
};

inline constexpr std::array kDerivedMetrics = {
    DerivedMetric{.name = "cpu.utilization",
                  .unit = "percent",
                  .help = "Time of all CPUs that is neither idle nor waiting for I/O",
                  .above = {{.metric = "cpu.time.all"},
                            {"cpu.time.all", "mode", "idle", -1},
                            {"cpu.time.all", "mode", "iowait", -1}},
                  .below = {{.metric = "cpu.time.all"}},
                  .scale = 100},
    DerivedMetric{.name = "cpu.utilization.cpu",
                  .unit = "percent",
                  .help = "The same for each CPU",
                  .by = "cpu",
                  .above = {{.metric = "cpu.time"},
                            {"cpu.time", "mode", "idle", -1},
                            {"cpu.time", "mode", "iowait", -1}},
                  .below = {{.metric = "cpu.time"}},
                  .scale = 100},
    DerivedMetric{.name = "cpu.utilization.node",
                  .unit = "percent",
                  .help = "The same for each NUMA node",
                  .by = "node",
                  .above = {{.metric = "cpu.time.node"},
                            {"cpu.time.node", "mode", "idle", -1},
                            {"cpu.time.node", "mode", "iowait", -1}},
                  .below = {{.metric = "cpu.time.node"}},
                  .scale = 100},
    DerivedMetric{.name = "cpu.share",
                  .unit = "percent",
                  .help = "Share of each mode in the time of all CPUs",
                  .by = "mode",
                  .above = {{.metric = "cpu.time.all"}},
                  .below = {{.metric = "cpu.time.all"}},
                  .below_is_whole = true,
                  .scale = 100},
    DerivedMetric{.name = "memory.used",
                  .unit = "bytes",
                  .help = "Memory that programs cannot get without swapping: all less available",
                  .above = {{.metric = "memory.limit"}, {"memory.available", "", "", -1}}},
    DerivedMetric{.name = "memory.utilization",
                  .unit = "percent",
                  .help = "memory.used of all memory",
                  .above = {{.metric = "memory.limit"}, {"memory.available", "", "", -1}},
                  .below = {{.metric = "memory.limit"}},
                  .scale = 100},
    DerivedMetric{.name = "swap.utilization",
                  .unit = "percent",
                  .help = "Swap in use of all swap",
                  .above = {{"memory.field", "field", "SwapTotal", 1},
                            {"memory.field", "field", "SwapFree", -1}},
                  .below = {{"memory.field", "field", "SwapTotal", 1}},
                  .scale = 100},
    DerivedMetric{.name = "disk.utilization",
                  .unit = "percent",
                  .help = "Time in which the device had something to do",
                  .by = "device",
                  .above = {{.metric = "disk.io_time"}},
                  .scale = 100},
    DerivedMetric{.name = "disk.throughput",
                  .unit = "bytes/s",
                  .help = "Bytes read and written",
                  .by = "device",
                  .above = {{.metric = "disk.read_bytes"}, {.metric = "disk.written_bytes"}}},
    DerivedMetric{.name = "disk.read_latency",
                  .unit = "seconds",
                  .help = "Mean time that a read took; absent when there was none",
                  .by = "device",
                  .above = {{.metric = "disk.read_time"}},
                  .below = {{.metric = "disk.reads"}}},
    DerivedMetric{.name = "disk.write_latency",
                  .unit = "seconds",
                  .help = "Mean time that a write took; absent when there was none",
                  .by = "device",
                  .above = {{.metric = "disk.write_time"}},
                  .below = {{.metric = "disk.writes"}}},
    DerivedMetric{.name = "net.throughput",
                  .unit = "bytes/s",
                  .help = "Bytes received and sent",
                  .by = "device",
                  .above = {{.metric = "net.received_bytes"}, {.metric = "net.sent_bytes"}}},
    DerivedMetric{.name = "pressure.cpu",
                  .unit = "percent",
                  .help = "Time in which some task waited for a CPU",
                  .above = {{.metric = "pressure.cpu.waiting"}},
                  .scale = 100},
    DerivedMetric{.name = "pressure.memory",
                  .unit = "percent",
                  .help = "Time in which some task waited for memory",
                  .above = {{.metric = "pressure.memory.waiting"}},
                  .scale = 100},
    DerivedMetric{.name = "pressure.io",
                  .unit = "percent",
                  .help = "Time in which some task waited for a disk",
                  .above = {{.metric = "pressure.io.waiting"}},
                  .scale = 100},
    DerivedMetric{.name = "self.cpu_utilization",
                  .unit = "percent",
                  .help = "CPU that the daemon takes, of one CPU",
                  .above = {{.metric = "self.cpu_time"}},
                  .scale = 100},
};

}  // namespace dynolog
