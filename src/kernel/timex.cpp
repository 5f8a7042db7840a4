// adjtimex(2).
#include "kernel/timex.h"

#include <sys/timex.h>

#include <cerrno>

namespace dynolog {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kNano = 1e-9;
// Frequencies are parts per million with a fraction of 16 bits.
constexpr double kScaledPpm = 1e-6 / 65536;

}  // namespace

Timex timex_of(const ::timex& raw, int state) {
  const double unit = (raw.status & STA_NANO) != 0 ? kNano : kMicro;
  const auto value = [](auto number) { return static_cast<double>(number); };
  Timex timex;
  timex.is_synchronised = state != TIME_ERROR;
  timex.status = value(raw.status);
  timex.offset_s = value(raw.offset) * unit;
  timex.frequency_ratio = 1 + value(raw.freq) * kScaledPpm;
  timex.max_error_s = value(raw.maxerror) * kMicro;
  timex.estimated_error_s = value(raw.esterror) * kMicro;
  timex.loop_time_constant = value(raw.constant);
  timex.tick_s = value(raw.tick) * kMicro;
  timex.pps_frequency_hz = value(raw.ppsfreq) * kScaledPpm;
  timex.pps_jitter_s = value(raw.jitter) * unit;
  timex.pps_shift_s = value(raw.shift);
  timex.pps_stability_hz = value(raw.stabil) * kScaledPpm;
  timex.pps_jitter_count = value(raw.jitcnt);
  timex.pps_calibrations = value(raw.calcnt);
  timex.pps_errors = value(raw.errcnt);
  timex.pps_stability_exceeded = value(raw.stbcnt);
  timex.tai_offset_s = value(raw.tai);
  return timex;
}

Result<Timex> read_timex() {
  struct timex raw{};
  const int state = ::adjtimex(&raw);
  if (state < 0) return fail_errno(errno, "adjtimex");
  return timex_of(raw, state);
}

}  // namespace dynolog
