// Whether a trace holds anything of the process, and the sentence for one that does not. Pure.
#pragma once

#include <string_view>

#include "traces/trace_summary.h"

namespace dynolog {

inline constexpr std::string_view kNothingRan =
    "nothing ran in the window: no operator and no kernel was recorded; the process was idle, "
    "waiting, or still starting: ask again while it works";

// All events are marks and names that Kineto writes whatever happens. A summary without categories
// is no answer: nobody counted (a memory snapshot has none).
[[nodiscard]] bool nothing_ran(const TraceSummary& summary);

}  // namespace dynolog
