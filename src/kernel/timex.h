// The kernel's clock discipline: adjtimex(2), asked and not changed.
#pragma once

#include "base/error.h"

struct timex;

namespace dynolog {

struct Timex {
  bool is_synchronised = false;
  double status = 0;  // bits STA_*
  double offset_s = 0;
  double frequency_ratio = 1;  // of the local clock to its nominal speed
  double max_error_s = 0;
  double estimated_error_s = 0;
  double loop_time_constant = 0;
  double tick_s = 0;
  double pps_frequency_hz = 0;
  double pps_jitter_s = 0;
  double pps_shift_s = 0;
  double pps_stability_hz = 0;
  double pps_jitter_count = 0;
  double pps_calibrations = 0;
  double pps_errors = 0;
  double pps_stability_exceeded = 0;
  double tai_offset_s = 0;
};

[[nodiscard]] Result<Timex> read_timex();

// What read_timex() makes of the answer. `state`: what adjtimex(2) returned.
[[nodiscard]] Timex timex_of(const ::timex& raw, int state);

}  // namespace dynolog
