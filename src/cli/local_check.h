// Looking at traces with dyno's own eyes: into files that the daemon could not read, and for those
// that it says lie on this host.
#pragma once

#include <string>

#include "base/clock.h"
#include "cli/exit_code.h"

namespace dynolog {

struct LookAround {
  const Clock& clock;
  bool local = false;     // the daemon is on this host, as far as one can tell
  WallTime since = {};    // a file without a trace id counts from then on
  int interrupt_fd = -1;  // ends the reading of a large file when it is readable
};

// A trace that is at its end unchecked, and whose file dyno can open, counts as checked from here
// on; the update says what was found. Nothing is said of files that cannot be opened.
void check_what_is_visible(const LookAround& around, TraceOutcome& outcome);

// Which of the files, as the daemon names them, dyno sees under the same name. `host` is the
// daemon's, when that is not dyno's own, else "".
void mark_places(const std::string& host, TraceOutcome& outcome);

}  // namespace dynolog
