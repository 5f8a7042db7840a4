// What a person should know about a checked trace before reading it. Pure.
#pragma once

#include <string>
#include <vector>

#include "profiling/process_trace.h"
#include "profiling/trace_config.h"

namespace dynolog {

// Sentences, the weightiest first: nothing ran in the window; traced by time instead of by steps,
// or fewer steps or another window than asked for; no GPU kernels where the process holds a GPU;
// events that seem to be missing; the client's own warnings. None for a file that nobody checked,
// nor for a memory snapshot.
[[nodiscard]] std::vector<std::string> trace_notes(const TraceRequest& request,
                                                   const FileCheck& check, bool holds_gpu);

}  // namespace dynolog
