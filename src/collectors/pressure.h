// Collector `pressure`: how long tasks waited for CPU, memory, I/O and interrupts.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kPressureMetrics = {
    MetricDescriptor{.id = "pressure.cpu.waiting",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time in which some task waited for a CPU",
                     .source = "/proc/pressure/cpu",
                     .prometheus = {.name = "node_pressure_cpu_waiting_seconds_total"},
                     .otlp = {.name = "dynolog.pressure.cpu.waiting"},
                     .json = {.name = "pressure_cpu_waiting_seconds"}},
    MetricDescriptor{.id = "pressure.memory.waiting",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time in which some task waited for memory",
                     .source = "/proc/pressure/memory",
                     .prometheus = {.name = "node_pressure_memory_waiting_seconds_total"},
                     .otlp = {.name = "dynolog.pressure.memory.waiting"},
                     .json = {.name = "pressure_memory_waiting_seconds"}},
    MetricDescriptor{.id = "pressure.memory.stalled",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time in which all tasks waited for memory",
                     .source = "/proc/pressure/memory",
                     .prometheus = {.name = "node_pressure_memory_stalled_seconds_total"},
                     .otlp = {.name = "dynolog.pressure.memory.stalled"},
                     .json = {.name = "pressure_memory_stalled_seconds"}},
    MetricDescriptor{.id = "pressure.io.waiting",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time in which some task waited for I/O",
                     .source = "/proc/pressure/io",
                     .prometheus = {.name = "node_pressure_io_waiting_seconds_total"},
                     .otlp = {.name = "dynolog.pressure.io.waiting"},
                     .json = {.name = "pressure_io_waiting_seconds"}},
    MetricDescriptor{.id = "pressure.io.stalled",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time in which all tasks waited for I/O",
                     .source = "/proc/pressure/io",
                     .prometheus = {.name = "node_pressure_io_stalled_seconds_total"},
                     .otlp = {.name = "dynolog.pressure.io.stalled"},
                     .json = {.name = "pressure_io_stalled_seconds"}},
    MetricDescriptor{.id = "pressure.irq.stalled",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "Time in which all tasks waited for interrupts to be served",
                     .source = "/proc/pressure/irq",
                     .prometheus = {.name = "node_pressure_irq_stalled_seconds_total"},
                     .otlp = {.name = "dynolog.pressure.irq.stalled"},
                     .json = {.name = "pressure_irq_stalled_seconds"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_pressure_collector(const SystemRoot& root);

}  // namespace dynolog
