// Checking a memory snapshot: the only other file that Kineto writes on request.
#pragma once

#include "base/error.h"
#include "traces/trace_summary.h"

namespace dynolog {

// Whether the open file is a whole pickle; its size. Errors: it cannot be read.
[[nodiscard]] Result<TraceSummary> check_snapshot(int fd);

}  // namespace dynolog
