// How long tests wait for what has to come. Nobody measures by it: a test that waits this long has
// failed, however slow or loaded the machine is.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>

#include "net/event_loop.h"

namespace dynolog {

inline constexpr std::chrono::seconds kPatience{240};

// recv() on it ends at last.
inline void be_patient(int fd) {
  const timeval limit{.tv_sec = kPatience.count(), .tv_usec = 0};
  EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
}

// Ends a loop that a test runs until something comes, and fails the test.
class LoopGuard {
 public:
  explicit LoopGuard(EventLoop& loop)
      : timer_(loop.after(kPatience, [this, &loop] {
          ADD_FAILURE() << "what this test waits for has not come";
          gave_up_ = true;
          loop.stop();
        })) {}
  LoopGuard(const LoopGuard&) = delete;
  LoopGuard& operator=(const LoopGuard&) = delete;
  [[nodiscard]] bool gave_up() const { return gave_up_; }

 private:
  bool gave_up_ = false;
  Timer timer_;
};

}  // namespace dynolog
