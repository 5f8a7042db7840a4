// Collector `nvme`: /sys/class/nvme. What NVMe drives are, and whether they live.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace nvme_metrics {

inline constexpr LabelKey kDevice{"device", "system.device"};
inline constexpr std::array kInfoLabels = {
    kDevice, LabelKey{"firmware_revision", "dynolog.nvme.firmware_revision"},
    LabelKey{"model", "dynolog.nvme.model"}, LabelKey{"serial", "dynolog.nvme.serial"},
    LabelKey{"state", "dynolog.nvme.state"}};

}  // namespace nvme_metrics

inline constexpr std::array kNvmeMetrics = {
    MetricDescriptor{.id = "nvme.info",
                     .kind = MetricKind::info,
                     .help = "What an NVMe drive is, as labels; the value is 1",
                     .source = "/sys/class/nvme",
                     .labels = LabelKeys(nvme_metrics::kInfoLabels),
                     .prometheus = {.name = "node_nvme_info"},
                     .otlp = {.name = "dynolog.nvme.info"}},
    MetricDescriptor{.id = "nvme.live",
                     .kind = MetricKind::gauge,
                     .help = "Whether a drive's controller serves requests (1), or is reset, "
                             "removed or dead (0)",
                     .source = "/sys/class/nvme",
                     .labels = {nvme_metrics::kDevice},
                     .prometheus = {.name = "dynolog_nvme_live"},
                     .otlp = {.name = "dynolog.nvme.live"},
                     .json = {.name = "nvme_live.{device}"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_nvme_collector(const SystemRoot& root);

}  // namespace dynolog
