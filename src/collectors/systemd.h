// Collector `systemd`: how the units are that the user has named. Off unless there are any.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "collectors/asked.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"
#include "metrics/unit_state.h"

namespace dynolog {

inline constexpr std::array kSystemdMetrics = {
    MetricDescriptor{
        .id = "systemd.unit_state",
        .kind = MetricKind::gauge,
        .help = "Whether the unit is in this state: 1, else 0",
        .source = "org.freedesktop.systemd1",
        .labels = {LabelKey{"name", "systemd.unit.name"}, LabelKey{"state", "systemd.unit.state"},
                   LabelKey{"type", "systemd.service.type"}},
        .prometheus = {.name = "node_systemd_unit_state"},
        .otlp = {.name = "dynolog.systemd.unit.state"}},
};

using AskedUnits = Asked<std::vector<UnitState>>;

// nullptr: no unit is named.
[[nodiscard]] std::unique_ptr<Collector> make_systemd_collector(std::shared_ptr<AskedUnits> asked);

}  // namespace dynolog
