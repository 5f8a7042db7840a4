// Work at a lower priority, which does not stick to the process.
#include "workers/low_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace dynolog {
namespace {

int niceness() { return ::getpriority(PRIO_PROCESS, 0); }  // of this thread

TEST(LowPriority, TheWorkIsNicerThanTheProcess) {
  const int before = niceness();
  int inside = -20;
  run_at_low_priority([&] { inside = niceness(); });
  EXPECT_EQ(inside, std::max(before, 10));
  EXPECT_EQ(niceness(), before);
}

}  // namespace
}  // namespace dynolog
