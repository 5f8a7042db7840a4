// Which processes a diagnosis speaks of: those that have called in and those that a scan found,
// as far as the asking person may reach them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "processes/process_signs.h"
#include "processes/process_table.h"
#include "processes/role.h"
#include "processes/selection.h"

namespace dynolog {

struct Candidate {
  ProcessEntry entry;       // made up, with facts, for one that has never called
  bool registered = false;  // has called
  ProcessSigns signs;       // of nothing where the scan has not seen it
  Part part;
  std::optional<Pid> forked_from;
  bool wanted = false;  // the selection means it
  bool named = false;   // by its pid
};

struct Candidates {
  std::vector<Candidate> all;           // by pid
  std::vector<std::int64_t> unmatched;  // pids that were named and mean nothing here
};

// All are wanted without a selection. What a trace would skip of those that it means is wanted too.
[[nodiscard]] Candidates find_candidates(const std::vector<const ProcessEntry*>& registered,
                                         const std::vector<ScannedProcess>& scanned,
                                         const Selection& selection, const Caller& caller,
                                         MonotonicTime now);

}  // namespace dynolog
