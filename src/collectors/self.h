// Collector `self`: what the daemon itself uses, and the counters that its parts keep.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kSelfMetrics = {
    MetricDescriptor{.id = "self.cpu_time",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "CPU time that the daemon used",
                     .source = "getrusage(2)",
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "process_cpu_seconds_total"},
                     .json = {.name = "dynolog_cpu_seconds"}},
    MetricDescriptor{.id = "self.cpu_time.mode",
                     .kind = MetricKind::counter,
                     .unit = Unit::seconds,
                     .help = "CPU time that the daemon used, by mode",
                     .source = "getrusage(2)",
                     .labels = {LabelKey{"mode", "cpu.mode"}},
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_cpu_seconds_total"},
                     .otlp = {.name = "process.cpu.time"},
                     .json = {.name = "dynolog_cpu_seconds.{mode}"}},
    MetricDescriptor{
        .id = "self.context_switches",
        .kind = MetricKind::counter,
        .help = "Context switches of the daemon's threads; voluntary ones are wake-ups",
        .source = "getrusage(2)",
        .labels = {LabelKey{"kind", "process.context_switch.type"}},
        .counter = {.of_daemon = true},
        .prometheus = {.name = "dynolog_context_switches_total"},
        .otlp = {.name = "process.context_switches"},
        .json = {.name = "dynolog_context_switches.{kind}"}},
    MetricDescriptor{.id = "self.resident_memory",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Memory of the daemon that is resident",
                     .source = "/proc/self/stat",
                     .prometheus = {.name = "process_resident_memory_bytes"},
                     .otlp = {.name = "process.memory.usage"},
                     .json = {.name = "dynolog_resident_bytes"}},
    MetricDescriptor{.id = "self.virtual_memory",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Address space of the daemon",
                     .source = "/proc/self/stat",
                     .prometheus = {.name = "process_virtual_memory_bytes"},
                     .otlp = {.name = "process.memory.virtual"},
                     .json = {.name = "dynolog_virtual_bytes"}},
    MetricDescriptor{.id = "self.threads",
                     .kind = MetricKind::gauge,
                     .help = "Threads of the daemon",
                     .source = "/proc/self/stat",
                     .prometheus = {.name = "dynolog_threads"},
                     .otlp = {.name = "process.thread.count"},
                     .json = {.name = "dynolog_threads"}},
    MetricDescriptor{.id = "self.open_descriptors",
                     .kind = MetricKind::gauge,
                     .help = "File descriptors that the daemon holds",
                     .source = "/proc/self/fd",
                     .prometheus = {.name = "process_open_fds"},
                     .otlp = {.name = "process.unix.file_descriptor.count"},
                     .json = {.name = "dynolog_open_fds"}},
    MetricDescriptor{.id = "self.descriptor_limit",
                     .kind = MetricKind::gauge,
                     .help = "File descriptors that the daemon may hold",
                     .source = "getrlimit(2)",
                     .prometheus = {.name = "process_max_fds"},
                     .otlp = {.name = "dynolog.descriptor_limit"}},
    MetricDescriptor{.id = "self.start_time",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "When the daemon was started, in seconds since the epoch",
                     .source = "/proc/self/stat",
                     .prometheus = {.name = "process_start_time_seconds"},
                     .otlp = {.name = "dynolog.start_time"},
                     .newest_only = true},
    MetricDescriptor{.id = "self.build",
                     .kind = MetricKind::info,
                     .help = "What the daemon was built from and with; always 1",
                     .source = "the daemon itself",
                     .labels = {LabelKey{"version", "dynolog.version"},
                                LabelKey{"compiler", "dynolog.compiler"}},
                     .prometheus = {.name = "dynolog_build_info"}},
    MetricDescriptor{.id = "self.count",
                     .kind = MetricKind::counter,
                     .help = "What the daemon's parts counted, by name: requests, polls, refusals",
                     .source = "the daemon itself",
                     .labels = {LabelKey{"name", "dynolog.name"}},
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_count_total"},
                     .otlp = {.name = "dynolog.count"},
                     .json = {.name = "dynolog_count.{name}"}},
};

// Calls its argument once for each counter, in the same order each time. Names are few and fixed
// ("rpc_requests"), values only grow. Called from the pipeline's thread.
using CounterVisitor = std::function<void(std::string_view name, std::uint64_t value)>;
using ReadCounters = std::function<void(const CounterVisitor& visit)>;

// `read_counters` may be empty.
[[nodiscard]] std::unique_ptr<Collector> make_self_collector(const SystemRoot& root,
                                                             ReadCounters read_counters,
                                                             long page_size, long ticks_per_second);

}  // namespace dynolog
