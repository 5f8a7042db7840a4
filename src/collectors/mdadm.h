// Collector `mdadm`: /proc/mdstat. State, disks and progress of software RAID arrays.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace md_metrics {

inline constexpr LabelKey kDevice{"device", "system.device"};
inline constexpr LabelKeys kByState = {kDevice, LabelKey{"state", "dynolog.md.state"}};

constexpr MetricDescriptor gauge(std::string_view id, LabelKeys labels, std::string_view help,
                                 std::string_view prometheus, std::string_view otlp) {
  return {.id = id,
          .kind = MetricKind::gauge,
          .help = help,
          .source = "/proc/mdstat",
          .labels = labels,
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp}};
}

}  // namespace md_metrics

inline constexpr std::array kMdadmMetrics = {
    md_metrics::gauge("md.state", md_metrics::kByState,
                      "Whether an array is in a state (1) or not (0)", "node_md_state",
                      "dynolog.md.state"),
    md_metrics::gauge("md.disks", md_metrics::kByState, "Disks of an array by their state",
                      "node_md_disks", "dynolog.md.disks"),
    md_metrics::gauge("md.disks_required", {md_metrics::kDevice},
                      "Disks that an array needs to be whole", "node_md_disks_required",
                      "dynolog.md.disks_required"),
    md_metrics::gauge("md.blocks", {md_metrics::kDevice}, "Blocks of 1 KiB of an array",
                      "node_md_blocks", "dynolog.md.blocks"),
    md_metrics::gauge("md.blocks_synced", {md_metrics::kDevice},
                      "Blocks of an array that its disks agree on", "node_md_blocks_synced",
                      "dynolog.md.blocks_synced"),
};

[[nodiscard]] std::unique_ptr<Collector> make_mdadm_collector(const SystemRoot& root);

}  // namespace dynolog
