// All sinks there are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "metrics/catalogue.h"
#include "metrics/sink.h"
#include "sinks/history/history.h"
#include "sinks/options.h"

namespace dynolog {

// What sinks see of the world; all of it outlives them.
struct SinkWorld {
  const Clock& clock;
  Log& log;
  Catalogue catalogue;
  std::string version;
  std::string host;        // its name
  std::string host_id;     // /etc/machine-id; "": not known
  std::string executable;  // what children are started from
  WallTime boot;           // of the host
  WallTime started;        // of the daemon
  Nanoseconds interval;    // from frame to frame
  Nanoseconds slowest;     // between two readings of the slowest source
  // How a sink that serves others or has a file fares: "ok", or "degraded" with the reason. Called
  // by make_sinks() only. Of one that reaches others nothing is known yet.
  std::function<void(const std::string& feature, const std::string& state,
                     const std::string& reason)>
      report;
  history::History* history = nullptr;  // none is kept
};

// Those that the options ask for, in the table's order. An error when one cannot start for a reason
// that its options can mend: it says which. One that this host does not let start, such as a port
// that is taken or a file
// that cannot be opened, is left out and reported.
[[nodiscard]] Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const SinkOptions& options,
                                                                    const SinkWorld& world);

}  // namespace dynolog
