// Collector `interrupts`: /proc/interrupts, totals by kind, or each interrupt of each CPU.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace interrupts_metrics {

inline constexpr std::array kPerCpuLabels = {
    LabelKey{"cpu", "cpu.logical_number"}, LabelKey{"type", "dynolog.interrupt.type"},
    LabelKey{"info", "dynolog.interrupt.info"}, LabelKey{"devices", "dynolog.interrupt.devices"}};

// Each number of the file is of 32 bits. A sum of them is kept to as many (interrupts.cpp).
inline constexpr CounterTraits kCount{.bits = 32};

}  // namespace interrupts_metrics

inline constexpr std::array kInterruptsMetrics = {
    MetricDescriptor{
        .id = "interrupts.kind",
        .kind = MetricKind::counter,
        .help = "Interrupts by kind: the kernel's names (LOC timer, RES rescheduling, CAL function "
                "call, TLB shootdown, ...), or `device` for all that devices raised",
        .source = "/proc/interrupts",
        .labels = {LabelKey{"kind", "dynolog.interrupt.kind"}},
        .counter = interrupts_metrics::kCount,
        .prometheus = {.name = "dynolog_interrupts_total"},
        .otlp = {.name = "dynolog.interrupts.kind"},
        .json = {.name = "interrupts.{kind}"}},
    MetricDescriptor{.id = "interrupts.per_cpu",
                     .kind = MetricKind::counter,
                     .help = "Each interrupt of each CPU; only where the options ask for it",
                     .source = "/proc/interrupts",
                     .labels = LabelKeys(interrupts_metrics::kPerCpuLabels),
                     .counter = interrupts_metrics::kCount,
                     .prometheus = {.name = "node_interrupts_total"},
                     .otlp = {.name = "dynolog.interrupts.per_cpu"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_interrupts_collector(
    const SystemRoot& root, const CollectorOptions::Interrupts& options);

}  // namespace dynolog
