// Streams a Kineto trace file once: is it whole, whose is it, what is in it. Bounded memory
// whatever the file's size: parsing is iterative, and one string or a nesting without end is
// refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"

namespace dynolog {

// No trace of Kineto's comes near these; a file beyond one is reported as not whole.
inline constexpr std::uint64_t kMaxTraceBytes = 64ULL << 30U;
inline constexpr std::size_t kMaxTraceString = 14U
                                               << 20U;  // any string up to this size is passed over
inline constexpr std::size_t kMaxTraceDepth = 512;

struct TraceSummary {
  bool whole = false;   // the top-level object is closed and nothing follows
  std::string problem;  // where and why it is not
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;  // elements of "traceEvents"
  std::string trace_id;      // top-level "trace_id", "" when absent; cleaned, at most 256 bytes
  std::string host_name;     // the same
};

// Reads `fd` from its current position to the end. An error only when it cannot be read; a broken
// file is a summary with whole = false. `meanwhile` is called now and then (each 16 MiB), so that
// the caller of a long check can see to other things; it may be empty.
[[nodiscard]] Result<TraceSummary> summarise_trace(int fd, std::function<void()> meanwhile = {});

}  // namespace dynolog
