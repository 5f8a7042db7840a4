// One call of adjtimex(2) that changes nothing.
#include "kernel/clock_sync.h"

#include <sys/timex.h>

namespace dynolog {

ClockSync clock_sync_of(int state, int status, long maxerror_us) {
  const bool synchronised = state >= 0 && state != TIME_ERROR && (status & STA_UNSYNC) == 0;
  return {.synchronised = synchronised,
          .largest_error = std::chrono::microseconds(maxerror_us > 0 ? maxerror_us : 0)};
}

std::optional<ClockSync> read_clock_sync() {
  timex asked{};  // modes = 0: only look
  const int state = ::adjtimex(&asked);
  if (state < 0) return std::nullopt;
  return clock_sync_of(state, asked.status, asked.maxerror);
}

std::optional<Nanoseconds> clock_error() {
  const auto sync = read_clock_sync();
  if (!sync || !sync->synchronised) return std::nullopt;
  return sync->largest_error;
}

}  // namespace dynolog
