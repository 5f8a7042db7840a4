// Collectors of files that hold one or a few numbers: `filefd`, `entropy`, `limits`.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kFilefdMetrics = {
    MetricDescriptor{.id = "files.open",
                     .kind = MetricKind::gauge,
                     .help = "Files that are open on the host",
                     .source = "/proc/sys/fs/file-nr",
                     .prometheus = {.name = "node_filefd_allocated"},
                     .otlp = {.name = "dynolog.files.open"},
                     .json = {.name = "open_files"}},
    MetricDescriptor{.id = "files.limit",
                     .kind = MetricKind::gauge,
                     .help = "Files that may be open on the host",
                     .source = "/proc/sys/fs/file-nr",
                     .prometheus = {.name = "node_filefd_maximum"},
                     .otlp = {.name = "dynolog.files.limit"}},
};

inline constexpr std::array kEntropyMetrics = {
    MetricDescriptor{.id = "entropy.available",
                     .kind = MetricKind::gauge,
                     .help = "Bits of entropy that the kernel has",
                     .source = "/proc/sys/kernel/random/entropy_avail",
                     .prometheus = {.name = "node_entropy_available_bits"},
                     .otlp = {.name = "dynolog.entropy.available"}},
    MetricDescriptor{.id = "entropy.pool_size",
                     .kind = MetricKind::gauge,
                     .help = "Bits of entropy that the kernel's pool can hold",
                     .source = "/proc/sys/kernel/random/poolsize",
                     .prometheus = {.name = "node_entropy_pool_size_bits"},
                     .otlp = {.name = "dynolog.entropy.pool_size"}},
};

inline constexpr std::array kLimitsMetrics = {
    MetricDescriptor{.id = "kernel.limit",
                     .kind = MetricKind::gauge,
                     .help = "How many of a thing the kernel allows",
                     .source = "/proc/sys",
                     .labels = {LabelKey{"thing", "dynolog.thing"}},
                     .prometheus = {.name = "dynolog_kernel_limit"},
                     .otlp = {.name = "dynolog.kernel.limit"}},
    MetricDescriptor{.id = "kernel.in_use",
                     .kind = MetricKind::gauge,
                     .help = "How many of a thing there are, of those that the kernel limits",
                     .source = "/proc/sys",
                     .labels = {LabelKey{"thing", "dynolog.thing"}},
                     .prometheus = {.name = "dynolog_kernel_in_use"},
                     .otlp = {.name = "dynolog.kernel.in_use"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_filefd_collector(const SystemRoot& root);
[[nodiscard]] std::unique_ptr<Collector> make_entropy_collector(const SystemRoot& root);
[[nodiscard]] std::unique_ptr<Collector> make_limits_collector(const SystemRoot& root);

}  // namespace dynolog
