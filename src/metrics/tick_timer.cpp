// timerfd on CLOCK_REALTIME.
#include "metrics/tick_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

namespace dynolog {

int read_timer(int fd, std::uint64_t& due) {
  const ssize_t got = ::read(fd, &due, sizeof due);
  if (got == static_cast<ssize_t>(sizeof due)) return 0;
  return got < 0 ? errno : EIO;
}

Result<TickTimer> TickTimer::create(std::chrono::seconds interval, ReadTimer read) {
  if (interval < std::chrono::seconds(1)) {
    return fail(ErrorKind::invalid, "the sampling interval must be at least 1 s");
  }
  UniqueFd fd(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "timerfd_create");
  TickTimer timer(std::move(fd), interval, std::move(read));
  if (auto armed = timer.arm(); !armed) return std::unexpected(armed.error());
  return timer;
}

Status TickTimer::arm() {
  // The kernel's own clock, whatever clock the rest of the pipeline was given: it runs the timer.
  const WallTime first = next_tick(SystemClock().wall(), interval_);
  itimerspec when{};
  when.it_value.tv_sec =
      std::chrono::duration_cast<std::chrono::seconds>(first.time_since_epoch()).count();
  when.it_interval.tv_sec = interval_.count();
  if (::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, nullptr) !=
      0) {
    return fail_errno(errno, "timerfd_settime");
  }
  return {};
}

Result<std::uint64_t> TickTimer::take() {
  std::uint64_t due = 0;
  const int error = read_(fd_.get(), due);
  if (error == 0) return due;
  if (error == EAGAIN || error == EINTR) return 0U;
  if (error != ECANCELED) return fail_errno(error, "timerfd");
  if (auto armed = arm(); !armed) return std::unexpected(armed.error());
  return 0U;
}

}  // namespace dynolog
