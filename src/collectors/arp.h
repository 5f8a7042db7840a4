// Collector `arp`: neighbours that each interface knows.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

inline constexpr std::array kArpMetrics = {
    MetricDescriptor{.id = "net.arp_entries",
                     .kind = MetricKind::gauge,
                     .help = "Entries of the ARP table",
                     .source = "/proc/net/arp",
                     .labels = {LabelKey{"device", "network.interface.name"}},
                     .prometheus = {.name = "node_arp_entries"},
                     .otlp = {.name = "dynolog.network.arp_entries"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_arp_collector(const SystemRoot& root);

}  // namespace dynolog
