// A timer at whole multiples of an interval of wall time, that notices when the clock is set.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// The first whole multiple of `interval` since the epoch after `now`.
[[nodiscard]] constexpr WallTime next_tick(WallTime now, std::chrono::seconds interval) {
  const auto since = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  return WallTime((since.count() / interval.count() + 1) * interval);
}

// read() of a timerfd: 0 and how often it has come due, or the errno.
using ReadTimer = std::function<int(int fd, std::uint64_t& due)>;
[[nodiscard]] int read_timer(int fd, std::uint64_t& due);

class TickTimer {
 public:
  // `interval` is at least a second. `read` is read_timer(), but for tests: nobody but the host's
  // root can set the clock, and that for all processes.
  [[nodiscard]] static Result<TickTimer> create(std::chrono::seconds interval, ReadTimer read);

  [[nodiscard]] int fd() const { return fd_.get(); }  // readable when a tick is due
  // How many ticks have come due since the last call: 0 when none, or when the clock was set, which
  // aligns the timer anew.
  [[nodiscard]] Result<std::uint64_t> take();

 private:
  TickTimer(UniqueFd fd, std::chrono::seconds interval, ReadTimer read)
      : fd_(std::move(fd)), interval_(interval), read_(std::move(read)) {}
  [[nodiscard]] Status arm();

  UniqueFd fd_;
  std::chrono::seconds interval_;
  ReadTimer read_;
};

}  // namespace dynolog
