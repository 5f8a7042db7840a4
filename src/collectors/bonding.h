// Collector `bonding`: /sys/class/net. Interfaces that a bond has, and how many of them work.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kBondingMetrics = {
    MetricDescriptor{.id = "bonding.slaves",
                     .kind = MetricKind::gauge,
                     .help = "Interfaces that belong to a bond",
                     .source = "/sys/class/net/bonding_masters",
                     .labels = {LabelKey{"master", "network.interface.name"}},
                     .prometheus = {.name = "node_bonding_slaves"},
                     .otlp = {.name = "dynolog.bonding.slaves"}},
    MetricDescriptor{.id = "bonding.active",
                     .kind = MetricKind::gauge,
                     .help = "Interfaces of a bond whose link works",
                     .source = "/sys/class/net/bonding_masters",
                     .labels = {LabelKey{"master", "network.interface.name"}},
                     .prometheus = {.name = "node_bonding_active"},
                     .otlp = {.name = "dynolog.bonding.active"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_bonding_collector(const SystemRoot& root);

}  // namespace dynolog
