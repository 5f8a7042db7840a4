// Collector `ethtool`: what drivers of network devices count themselves: drops, pauses, errors of
// the link, congestion.
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/options.h"
#include "kernel/ethtool.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace ethtool_metrics {

inline constexpr LabelKey kDevice{"device", "network.interface.name"};
inline constexpr std::array kInfoLabels = {
    kDevice,
    LabelKey{"bus_info", "dynolog.ethtool.bus_info"},
    LabelKey{"driver", "dynolog.ethtool.driver"},
    LabelKey{"expansion_rom_version", "dynolog.ethtool.expansion_rom_version"},
    LabelKey{"firmware_version", "dynolog.ethtool.firmware_version"},
    LabelKey{"version", "dynolog.ethtool.version"}};

}  // namespace ethtool_metrics

inline constexpr std::array kEthtoolMetrics = {
    MetricDescriptor{.id = "ethtool.info",
                     .kind = MetricKind::info,
                     .help = "Driver and firmware of a network device, as labels; the value is 1",
                     .source = "SIOCETHTOOL",
                     .labels = LabelKeys(ethtool_metrics::kInfoLabels),
                     .prometheus = {.name = "node_ethtool_info"},
                     .otlp = {.name = "dynolog.ethtool.info"}},
    MetricDescriptor{
        .id = "ethtool.statistic",
        .kind = MetricKind::counter,
        .help = "What a network device's driver counts, under its own name",
        .source = "SIOCETHTOOL",
        .labels = {ethtool_metrics::kDevice, LabelKey{"statistic", "dynolog.ethtool.statistic"}},
        .prometheus = {.name = "node_ethtool_{statistic}", .type_override = "untyped"},
        .otlp = {.name = "dynolog.ethtool.statistic"}},
};

// An error of kind invalid when the options' expressions are none.
[[nodiscard]] Result<std::unique_ptr<Collector>> make_ethtool_collector(
    const SystemRoot& root, const CollectorOptions& options, std::unique_ptr<Ethtool> ethtool);

}  // namespace dynolog
