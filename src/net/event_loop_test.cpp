// The loop's promises: order, certain cancellation, callbacks that destroy what called them.
#include "net/event_loop.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace dynolog {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;

TEST(EventLoop, RunsPostedWorkInOrderFromAnyThread) {
  EventLoop loop;
  std::vector<int> seen;
  std::jthread other([&] {
    for (int i = 0; i < 100; ++i) loop.post([&, i] { seen.push_back(i); });
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  ASSERT_EQ(seen.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST(EventLoop, StopBeforeRunCounts) {
  EventLoop loop;
  loop.stop();
  loop.run();  // returns
  loop.post([&] { loop.stop(); });
  loop.run();
}

TEST(EventLoop, ATimerThatIsDueButCancelledNeverRuns) {
  EventLoop loop;
  bool ran = false;
  Timer victim;
  // Both are due at once; whichever runs first, the victim is cancelled before it.
  Timer first = loop.after(0ns, [&] { victim.cancel(); });
  victim = loop.after(1ns, [&] { ran = true; });
  EXPECT_TRUE(victim.armed());
  std::this_thread::yield();
  Timer last = loop.after(5ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(ran);
  EXPECT_FALSE(victim.armed());
  EXPECT_FALSE(first.armed());
}

TEST(EventLoop, ATimerMayReplaceItselfInItsCallback) {
  EventLoop loop;
  int count = 0;
  Timer timer;
  std::function<void()> tick = [&] {
    if (++count == 5) return loop.stop();
    timer = loop.after(0ns, tick);
  };
  timer = loop.after(0ns, tick);
  loop.run();
  EXPECT_EQ(count, 5);
}

TEST(EventLoop, AWatchCallsAgainWhileReadableAndLeavesTheDescriptorOpen) {
  EventLoop loop;
  const UniqueFd event(::eventfd(1, EFD_CLOEXEC));
  int calls = 0;
  Watch watch;
  watch = loop.watch_readable(event.get(), [&] {  // never drained: still readable
    if (++calls == 3) {
      watch = Watch();
      loop.post([&] { loop.stop(); });
    }
  });
  loop.run();
  EXPECT_EQ(calls, 3);
  std::uint64_t value = 0;
  EXPECT_EQ(::read(event.get(), &value, sizeof value), static_cast<ssize_t>(sizeof value));
}

TEST(EventLoop, ADestroyedWatchIsSilentAlthoughReadable) {
  EventLoop loop;
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  int calls = 0;
  Watch watch = loop.watch_readable(event.get(), [&] { ++calls; });
  loop.post([&] {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(event.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    watch = Watch();
  });
  Timer last = loop.after(5ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(calls, 0);
}

TEST(EventLoop, SignalsArriveAsCallbacks) {
  EventLoop loop;
  int calls = 0;
  const Watch watch = loop.on_signal(SIGUSR1, [&] {
    if (++calls == 2) return loop.stop();
    ::raise(SIGUSR1);
  });
  loop.post([] { ::raise(SIGUSR1); });
  loop.run();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace dynolog
