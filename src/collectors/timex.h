// Collector `timex`: how well the host's clock is kept.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "base/error.h"
#include "kernel/timex.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace timex_metrics {

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, std::string_view prometheus,
                                  std::string_view otlp, std::string_view json = "") {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = "adjtimex(2)",
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {.name = json}};
}

}  // namespace timex_metrics

inline constexpr std::array kTimexMetrics = [] {
  using timex_metrics::metric;
  using enum MetricKind;
  return std::array{
      metric("clock.synchronised", gauge, Unit::none,
             "Whether something keeps the clock right (1) or nothing does (0)",
             "node_timex_sync_status", "dynolog.clock.synchronised", "clock_synchronised"),
      newest_only(metric("clock.status", gauge, Unit::none, "Status bits of the clock's discipline",
                         "node_timex_status", "dynolog.clock.status")),
      metric("clock.offset", gauge, Unit::seconds, "Time that the clock is still to be moved by",
             "node_timex_offset_seconds", "dynolog.clock.offset", "clock_offset_seconds"),
      metric("clock.frequency_ratio", gauge, Unit::none,
             "Speed that the clock is kept at, of its own speed",
             "node_timex_frequency_adjustment_ratio", "dynolog.clock.frequency_ratio"),
      metric("clock.max_error", gauge, Unit::seconds, "Largest error that the clock may have",
             "node_timex_maxerror_seconds", "dynolog.clock.max_error", "clock_max_error_seconds"),
      metric("clock.estimated_error", gauge, Unit::seconds,
             "Error that the clock is thought to have", "node_timex_estimated_error_seconds",
             "dynolog.clock.estimated_error"),
      metric("clock.loop_time_constant", gauge, Unit::none,
             "Time constant of the loop that keeps the clock", "node_timex_loop_time_constant",
             "dynolog.clock.loop_time_constant"),
      metric("clock.tick", gauge, Unit::seconds, "Time between two ticks of the clock",
             "node_timex_tick_seconds", "dynolog.clock.tick"),
      metric("clock.pps.frequency", gauge, Unit::hertz, "Frequency of the pulse a second (PPS)",
             "node_timex_pps_frequency_hertz", "dynolog.clock.pps.frequency"),
      metric("clock.pps.jitter", gauge, Unit::seconds, "Jitter of the pulse a second",
             "node_timex_pps_jitter_seconds", "dynolog.clock.pps.jitter"),
      metric("clock.pps.shift", gauge, Unit::seconds, "Length of the pulse's calibration interval",
             "node_timex_pps_shift_seconds", "dynolog.clock.pps.shift"),
      metric("clock.pps.stability", gauge, Unit::hertz, "Stability of the pulse's frequency",
             "node_timex_pps_stability_hertz", "dynolog.clock.pps.stability"),
      metric("clock.pps.jitter_count", counter, Unit::none,
             "How often the pulse's jitter was over its limit", "node_timex_pps_jitter_total",
             "dynolog.clock.pps.jitter_count"),
      metric("clock.pps.calibrations", counter, Unit::none, "Calibration intervals of the pulse",
             "node_timex_pps_calibration_total", "dynolog.clock.pps.calibrations"),
      metric("clock.pps.errors", counter, Unit::none, "Calibrations of the pulse that failed",
             "node_timex_pps_error_total", "dynolog.clock.pps.errors"),
      metric("clock.pps.stability_exceeded", counter, Unit::none,
             "How often the pulse's stability was over its limit",
             "node_timex_pps_stability_exceeded_total", "dynolog.clock.pps.stability_exceeded"),
      metric("clock.tai_offset", gauge, Unit::seconds,
             "Atomic time (TAI) less the clock's, where it was told",
             "node_timex_tai_offset_seconds", "dynolog.clock.tai_offset"),
  };
}();

// `read`: read_timex(), or what a test has instead.
[[nodiscard]] std::unique_ptr<Collector> make_timex_collector(std::function<Result<Timex>()> read);

}  // namespace dynolog
