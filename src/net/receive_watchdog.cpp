// A POSIX timer that signals one thread.
#include "net/receive_watchdog.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace dynolog {
namespace {

int watchdog_signal() { return SIGRTMAX - 2; }

void interrupt_only(int) {}

}  // namespace

Result<std::unique_ptr<ReceiveWatchdog>> ReceiveWatchdog::start(Milliseconds patience) {
  struct sigaction action{};
  action.sa_handler = interrupt_only;  // without SA_RESTART
  if (::sigaction(watchdog_signal(), &action, nullptr) != 0) return fail_errno(errno, "sigaction");
  sigset_t unblocked;
  ::sigemptyset(&unblocked);
  ::sigaddset(&unblocked, watchdog_signal());
  ::pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = watchdog_signal();
  // The C library of the base line has no name for this member.
  event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
    return fail_errno(errno, "timer_create");
  return std::unique_ptr<ReceiveWatchdog>(new ReceiveWatchdog(timer, patience));
}

ReceiveWatchdog::~ReceiveWatchdog() { ::timer_delete(timer_); }

void ReceiveWatchdog::set(Nanoseconds period) {
  itimerspec spec{};
  spec.it_value.tv_nsec = period.count();
  spec.it_interval.tv_nsec = period.count();
  ::timer_settime(timer_, 0, &spec, nullptr);
}

void ReceiveWatchdog::arm() { set(patience_); }
void ReceiveWatchdog::disarm() { set(Nanoseconds(0)); }

}  // namespace dynolog
