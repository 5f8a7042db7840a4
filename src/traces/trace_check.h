// Streams a Kineto trace file once: is it whole, whose is it, what is in it. Bounded memory whatever
// the file's size; iterative parsing; strings of any length are passed over, not kept.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace dynolog {

struct TraceSummary {
  bool whole = false;  // the top-level object is closed and nothing follows
  std::string problem;  // where and why it is not
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;  // elements of "traceEvents"
  std::string trace_id;      // top-level "trace_id", "" when absent
  std::string host_name;
};

// Reads `fd` from its current position to the end. An error only when it cannot be read; a broken
// file is a summary with whole = false.
[[nodiscard]] Result<TraceSummary> summarise_trace(int fd);

}  // namespace dynolog
