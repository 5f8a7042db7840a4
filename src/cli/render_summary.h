// What came of a session, as text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

// A table with a line for each process, what is to be said of them, where their time went, and a
// last line with the count. `columns` are those that names are cut for, 0: none.
[[nodiscard]] std::string render_summary(const TraceOutcome& outcome, int columns);

// Where the time of a session went: the names with the most time of their own, over all of its
// traces. Each trace tells its own first few, so that the sums are of those.
struct Hottest {
  std::vector<std::string> of;    // whose traces: "rank 0, pid 12"
  std::vector<NameTime> kernels;  // most first
  std::vector<NameTime> operators;
};
[[nodiscard]] Hottest hottest(const TraceOutcome& outcome);

}  // namespace dynolog
