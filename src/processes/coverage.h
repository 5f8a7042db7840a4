// How much of a job is on this host. Pure.
#pragma once

#include <string>
#include <vector>

#include "processes/process_table.h"

namespace dynolog {

// One line on the jobs of `chosen`, compared with the world sizes that they say:
//   "8 of 8 ranks here", "8 of 8 ranks here, 2 chosen",
//   "7 of 8 ranks here; rank 3 is missing or elsewhere",
//   "4 of 8 ranks here; ranks 4-7 are not on this host" (a launcher said how many are),
//   "3 of 8 ranks here; rank 2 is missing; ranks 4-7 are not on this host",
//   "2 ranks here (0-1), of how many is not known".
// Chosen processes of the job without a rank are counted behind. Each job with its name where there
// are several, " | " between them; "" when none of them has a rank. `all` is the whole table, with
// the chosen in it: of it only processes of the same tenants and jobs count.
[[nodiscard]] std::string coverage(const std::vector<const ProcessEntry*>& chosen,
                                   const std::vector<const ProcessEntry*>& all);

}  // namespace dynolog
