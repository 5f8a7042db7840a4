// All collectors there are, and the catalogue of what they emit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/self.h"
#include "metrics/catalogue.h"
#include "metrics/collector.h"

namespace dynolog {

// What collectors are built from.
struct CollectorWorld {
  SystemRoot root;
  ReadCounters read_counters;  // of the daemon's other parts; may be empty
};

// All but the disabled ones, in the table's order. A name that there is not is an error with the
// nearest one suggested.
[[nodiscard]] Result<std::vector<std::unique_ptr<Collector>>> make_collectors(
    const CollectorWorld& world, const std::vector<std::string>& disabled);

// Every collector's metrics, and the framework's own.
[[nodiscard]] Catalogue metric_catalogue();

[[nodiscard]] std::string list_metrics(bool json);  // dynolog --list_metrics [--json]
[[nodiscard]] std::string metrics_page();           // docs/metrics.md

}  // namespace dynolog
