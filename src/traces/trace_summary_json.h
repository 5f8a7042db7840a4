// JSON text of a summary: for a worker's frame, a journal's line, the side-car beside a trace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "traces/trace_summary.h"

namespace dynolog {

// No summary's text is longer.
inline constexpr std::size_t kMaxSummaryJson = 40U << 10U;

// One line without a line's end. Lists and texts beyond trace_summary.h's limits are cut to them,
// and texts are cleaned.
[[nodiscard]] std::string encode_trace_summary(const TraceSummary& summary);

// Hostile text: size, depth, types, counts and lengths are checked, texts are cleaned. An error
// (invalid) names what is missing or wrong; unknown members are passed over.
[[nodiscard]] Result<TraceSummary> decode_trace_summary(std::string_view text);

}  // namespace dynolog
