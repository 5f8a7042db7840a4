// How far the host's wall clock may be off, as the kernel keeps it for who disciplines it (NTP,
// PTP).
#pragma once

#include <optional>

#include "base/clock.h"

namespace dynolog {

// What adjtimex(2) answers, in the units that everything else has.
struct ClockSync {
  bool synchronised = false;    // somebody disciplines the clock and vouches for it
  Nanoseconds largest_error{};  // the kernel's "maxerror": grows by 500 ppm between two looks
};
// `state` is adjtimex's return value, `status` and `maxerror_us` are of its struct. Pure.
[[nodiscard]] ClockSync clock_sync_of(int state, int status, long maxerror_us);

// nullopt where the kernel refuses to tell (a container's seccomp filter).
[[nodiscard]] std::optional<ClockSync> read_clock_sync();

// The error that a time stamp of this host may have; nullopt when the clock is not synchronised or
// nobody can tell: then nothing is known.
[[nodiscard]] std::optional<Nanoseconds> clock_error();

}  // namespace dynolog
