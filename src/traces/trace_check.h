// Streams a Kineto trace file once, plain or gzip: is it whole, whose is it, what is in it, where
// did the time go. Bounded memory whatever the file's size: parsing is iterative, one string or a
// nesting without end is refused, and figures that would need more become estimates and say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/error.h"
#include "traces/trace_summary.h"

namespace dynolog {

// No trace of Kineto's comes near these; a file beyond one is reported as not whole.
inline constexpr std::uint64_t kMaxTraceBytes = 64ULL << 30U;
inline constexpr std::size_t kMaxTraceString = 14U
                                               << 20U;  // any string up to this size is passed over
inline constexpr std::size_t kMaxTraceDepth = 512;

// Reads `fd` from its current position to the end. An error only when it cannot be read; a broken
// file is a summary with whole = false, and with the figures of what could be read. `meanwhile` is
// called now and then (each 16 MiB), so that the caller of a long check can see to other things; it
// may be empty. `max_bytes` of the file or of its JSON; tests ask for less.
[[nodiscard]] Result<TraceSummary> summarise_trace(int fd, std::function<void()> meanwhile = {},
                                                   std::uint64_t max_bytes = kMaxTraceBytes);

}  // namespace dynolog
