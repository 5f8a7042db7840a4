// All collectors there are, and the catalogue of what they emit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/filesystem.h"
#include "collectors/jobs.h"
#include "collectors/options.h"
#include "collectors/self.h"
#include "collectors/systemd.h"
#include "collectors/textfile.h"
#include "metrics/catalogue.h"
#include "metrics/collector.h"

namespace dynolog {

// What collectors are built from.
struct CollectorWorld {
  SystemRoot root;
  ReadCounters read_counters;  // of the daemon's other parts; may be empty
  CollectorOptions options{};
  // What workers read; nullptr: there is none.
  std::shared_ptr<AskedFileSystems> file_systems = nullptr;
  std::shared_ptr<AskedTextFiles> text_files = nullptr;
  std::shared_ptr<AskedRanks> ranks = nullptr;
  std::shared_ptr<AskedUnits> units = nullptr;
  std::function<bool()> somebody_looks = nullptr;  // at processes; may be empty
};

// All but the disabled ones, in the table's order. A name, here or in the options, that there is
// not is an error with the nearest one suggested, and so is an option that cannot be.
[[nodiscard]] Result<std::vector<std::unique_ptr<Collector>>> make_collectors(
    const CollectorWorld& world, const std::vector<std::string>& disabled);

// The same of names alone; the error does not say which option they are of.
[[nodiscard]] Status check_collector_names(const std::vector<std::string>& names);

// Every collector's metrics, and the framework's own.
[[nodiscard]] Catalogue metric_catalogue();

[[nodiscard]] std::string list_metrics(bool json);  // dynolog --list_metrics [--json]
[[nodiscard]] std::string metrics_page();           // docs/metrics.md

}  // namespace dynolog
