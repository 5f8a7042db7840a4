// SCHED_RR at the lowest priority, kept off children by SCHED_RESET_ON_FORK.
#include "ipc/realtime.h"

#include <pthread.h>
#include <sched.h>

#include <ctime>

namespace dynolog {

bool set_realtime(bool realtime) {
  sched_param parameter{};
  parameter.sched_priority = realtime ? 1 : 0;
  const int policy = (realtime ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK;
  return ::pthread_setschedparam(::pthread_self(), policy, &parameter) == 0;
}

RealtimePriority::Change RealtimePriority::begin(MonotonicTime now, Nanoseconds used) {
  if (!wanted_) return Change::none;
  window_start_ = now;
  used_at_start_ = used;
  realtime_ = set_(true);
  return realtime_ ? Change::taken : Change::refused;
}

RealtimePriority::Change RealtimePriority::on_turn(MonotonicTime now, Nanoseconds used) {
  if (!realtime_ && !left_) return Change::none;
  const Nanoseconds elapsed = now - window_start_;
  const Nanoseconds allowance = elapsed > kWindow ? elapsed / 20 : kAllowance;
  const bool noisy = used - used_at_start_ > allowance;
  if (noisy || elapsed >= kWindow) {
    window_start_ = now;
    used_at_start_ = used;
  }
  if (realtime_ && noisy) {
    // Giving priority up is always permitted.
    (void)set_(false);
    realtime_ = false;
    left_ = true;
    quiet_since_ = now;
    return Change::left;
  }
  if (!left_) return Change::none;
  if (noisy) quiet_since_ = now;
  if (now - quiet_since_ < kQuiet) return Change::none;
  if (!set_(true)) {
    // No longer permitted: to be tried again, but not at every turn.
    quiet_since_ = now;
    return Change::none;
  }
  realtime_ = true;
  left_ = false;
  return Change::taken;
}

std::optional<MonotonicTime> RealtimePriority::next_due() const {
  if (!left_) return std::nullopt;
  return quiet_since_ + kQuiet;
}

Nanoseconds thread_cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
}

}  // namespace dynolog
