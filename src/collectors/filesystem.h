// Collector `filesystem`: the room on each mount.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "collectors/asked.h"
#include "kernel/mounts.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr LabelKeys kFilesystemLabels = {
    LabelKey{"device", "system.device"}, LabelKey{"fstype", "system.filesystem.type"},
    LabelKey{"mountpoint", "system.filesystem.mountpoint"}};
inline constexpr std::string_view kFilesystemSource = "statfs(2), /proc/1/mountinfo";

inline constexpr std::array kFilesystemMetrics = {
    MetricDescriptor{.id = "filesystem.size",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Size of the file system",
                     .source = kFilesystemSource,
                     .labels = kFilesystemLabels,
                     .prometheus = {.name = "node_filesystem_size_bytes"},
                     .otlp = {.name = "system.filesystem.limit"}},
    MetricDescriptor{.id = "filesystem.free",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Free space of the file system, what is kept for root included",
                     .source = kFilesystemSource,
                     .labels = kFilesystemLabels,
                     .prometheus = {.name = "node_filesystem_free_bytes"},
                     .otlp = {.name = "dynolog.filesystem.free"}},
    MetricDescriptor{.id = "filesystem.available",
                     .kind = MetricKind::gauge,
                     .unit = Unit::bytes,
                     .help = "Space of the file system that users other than root may still take",
                     .source = kFilesystemSource,
                     .labels = kFilesystemLabels,
                     .prometheus = {.name = "node_filesystem_avail_bytes"},
                     .otlp = {.name = "system.filesystem.usage",
                              .fixed_key = "system.filesystem.state",
                              .fixed_value = "free"}},
    MetricDescriptor{.id = "filesystem.files",
                     .kind = MetricKind::gauge,
                     .help = "Inodes that the file system has",
                     .source = kFilesystemSource,
                     .labels = kFilesystemLabels,
                     .prometheus = {.name = "node_filesystem_files"},
                     .otlp = {.name = "dynolog.filesystem.files"}},
    MetricDescriptor{.id = "filesystem.files_free",
                     .kind = MetricKind::gauge,
                     .help = "Inodes of the file system that are free",
                     .source = kFilesystemSource,
                     .labels = kFilesystemLabels,
                     .prometheus = {.name = "node_filesystem_files_free"},
                     .otlp = {.name = "dynolog.filesystem.files_free"}},
    MetricDescriptor{.id = "filesystem.device_error",
                     .kind = MetricKind::gauge,
                     .help = "Whether the file system could not be asked, or did not answer (1)",
                     .source = kFilesystemSource,
                     .labels = kFilesystemLabels,
                     .prometheus = {.name = "node_filesystem_device_error"},
                     .otlp = {.name = "dynolog.filesystem.device_error"}},
    MetricDescriptor{.id = "filesystem.readonly",
                     .kind = MetricKind::gauge,
                     .help = "Whether the file system may only be read (1)",
                     .source = kFilesystemSource,
                     .labels = kFilesystemLabels,
                     .prometheus = {.name = "node_filesystem_readonly"},
                     .otlp = {.name = "dynolog.filesystem.readonly"}},
};

using AskedFileSystems = Asked<std::vector<MountUsage>>;

// Without `asked`, which has the options' filters, the collector is not available.
[[nodiscard]] std::unique_ptr<Collector> make_filesystem_collector(
    std::shared_ptr<AskedFileSystems> asked);

}  // namespace dynolog
