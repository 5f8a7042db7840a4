// All sinks there are.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "metrics/sink.h"
#include "sinks/options.h"

namespace dynolog {

// Those that the options ask for, in the table's order. An error when one cannot start: it says
// which option to mend.
[[nodiscard]] Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const SinkOptions& options);

}  // namespace dynolog
