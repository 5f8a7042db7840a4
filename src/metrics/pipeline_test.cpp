// The pipeline's thread, its timer and its event queue.
#include "metrics/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <future>
#include <thread>

#include "metrics/event_queue.h"
#include "metrics/tick_timer.h"
#include "testing/capturing_log.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

class PromisingSink final : public Sink {
 public:
  struct Seen {
    std::promise<std::thread::id> first_frame;
    std::promise<std::string> first_event;
    int frames = 0;
    int events = 0;
  };
  explicit PromisingSink(Seen& seen) : seen_(seen) {}
  [[nodiscard]] std::string_view name() const override { return "promising"; }
  [[nodiscard]] Status consume(const Frame&) override {
    if (seen_.frames++ == 0) seen_.first_frame.set_value(std::this_thread::get_id());
    return {};
  }
  [[nodiscard]] Status consume(const Event& event) override {
    if (seen_.events++ == 0) seen_.first_event.set_value(event.kind);
    return {};
  }

 private:
  Seen& seen_;
};

class PipelineTest : public testing::Test {
 protected:
  std::unique_ptr<Pipeline> start(seconds interval) {
    std::vector<std::unique_ptr<Sink>> sinks;
    sinks.push_back(std::make_unique<PromisingSink>(seen_));
    PipelineOptions options;
    options.interval = interval;
    auto pipeline = Pipeline::start(options, {}, std::move(sinks), clock_, log_);
    return pipeline ? std::move(*pipeline) : nullptr;
  }

  SystemClock clock_;
  CapturingLog log_;
  PromisingSink::Seen seen_;
};

TEST_F(PipelineTest, TicksAtOnceOnAThreadOfItsOwn) {
  const auto pipeline = start(seconds(3600));
  ASSERT_TRUE(pipeline);
  EXPECT_NE(seen_.first_frame.get_future().get(), std::this_thread::get_id());
}

TEST_F(PipelineTest, AnEventIsDeliveredWithoutWaitingForATick) {
  const auto pipeline = start(seconds(3600));
  pipeline->publish(Event{.kind = "trace.written"});
  EXPECT_EQ(seen_.first_event.get_future().get(), "trace.written");
}

TEST_F(PipelineTest, EndsAtOnceAndDeliversWhatWasPublished) {
  auto pipeline = start(seconds(3600));
  for (int i = 0; i < 100; ++i) pipeline->publish(Event{.kind = "k"});
  pipeline.reset();  // hangs, and the test times out, if it waited for a tick
  EXPECT_EQ(seen_.events, 100);
}

TEST_F(PipelineTest, StatesAreReadableFromAnyThread) {
  const auto pipeline = start(seconds(1));
  seen_.first_frame.get_future().wait();
  const auto states = pipeline->states();
  ASSERT_EQ(states.size(), 1U);
  EXPECT_EQ(states[0].name, "promising");
  EXPECT_EQ(states[0].kind, "sink");
}

TEST_F(PipelineTest, RefusesAnIntervalUnderASecond) { EXPECT_FALSE(start(seconds(0))); }

TEST(TickTimer, AlignsToWholeMultiples) {
  const auto at = [](long long ms) { return WallTime(Milliseconds(ms)); };
  EXPECT_EQ(next_tick(at(1000), seconds(1)), at(2000));
  EXPECT_EQ(next_tick(at(1999), seconds(1)), at(2000));
  EXPECT_EQ(next_tick(at(61'500), seconds(60)), at(120'000));
  EXPECT_EQ(next_tick(at(120'000), seconds(60)), at(180'000));
}

TEST(TickTimer, NothingIsDueBeforeTheFirstTick) {
  auto timer = TickTimer::create(seconds(3600), read_timer);
  ASSERT_TRUE(timer);
  EXPECT_EQ(timer->take(), 0U);
}

itimerspec armed(const TickTimer& timer) {
  itimerspec when{};
  EXPECT_EQ(::timerfd_gettime(timer.fd(), &when), 0);
  return when;
}

// The kernel cancels the timer and answers ECANCELED, once, to who reads it.
TEST(TickTimer, IsAlignedAnewWhenTheClockIsSet) {
  int answer = ECANCELED;
  auto timer = TickTimer::create(seconds(3600), [&](int, std::uint64_t&) { return answer; });
  ASSERT_TRUE(timer);
  const itimerspec off{};
  ASSERT_EQ(::timerfd_settime(timer->fd(), 0, &off, nullptr), 0);
  ASSERT_EQ(armed(*timer).it_value.tv_sec, 0);

  EXPECT_EQ(timer->take(), 0U) << "no tick has come due";
  EXPECT_GT(armed(*timer).it_value.tv_sec + armed(*timer).it_value.tv_nsec, 0) << "armed again";
  EXPECT_LE(armed(*timer).it_value.tv_sec, 3600);
  EXPECT_EQ(armed(*timer).it_interval.tv_sec, 3600);

  // What is no change of the clock leaves the timer as it is, or is an error.
  ASSERT_EQ(::timerfd_settime(timer->fd(), 0, &off, nullptr), 0);
  for (const int harmless : {EAGAIN, EINTR}) {
    answer = harmless;
    EXPECT_EQ(timer->take(), 0U);
  }
  EXPECT_EQ(armed(*timer).it_value.tv_sec, 0);
  answer = EIO;
  EXPECT_FALSE(timer->take());
}

TEST(TickTimer, ReadsHowOftenItHasComeDue) {
  auto timer = TickTimer::create(seconds(3600), read_timer);
  ASSERT_TRUE(timer);
  const itimerspec at_once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
  ASSERT_EQ(::timerfd_settime(timer->fd(), 0, &at_once, nullptr), 0);
  pollfd watched{timer->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&watched, 1, -1), 1);
  EXPECT_EQ(timer->take(), 1U);
  EXPECT_EQ(timer->take(), 0U);
}

// The kernel's timer is on whole seconds, whenever it was made: it says how long it has still to
// go.
TEST(TickTimer, IsDueOnWholeSeconds) {
  const auto timer = TickTimer::create(seconds(60), read_timer);
  ASSERT_TRUE(timer);
  const SystemClock clock;
  itimerspec left{};
  const WallTime before = clock.wall();
  ASSERT_EQ(::timerfd_gettime(timer->fd(), &left), 0);
  const WallTime after = clock.wall();
  const auto to_go = seconds(left.it_value.tv_sec) + Nanoseconds(left.it_value.tv_nsec);
  // The whole minute lies between what it would be if it had been asked at the begin and at the
  // end.
  const auto minute = std::chrono::ceil<std::chrono::minutes>(before + to_go - Milliseconds(1));
  EXPECT_LE(minute, after + to_go + Milliseconds(1));
  EXPECT_EQ(left.it_interval.tv_sec, 60);
  EXPECT_EQ(left.it_interval.tv_nsec, 0);
}

TEST(EventQueue, TheOldestGoFirst) {
  EventQueue queue(2);
  for (const char* kind : {"a", "b", "c"}) queue.push(Event{.kind = kind});
  EXPECT_EQ(queue.dropped(), 1U);
  EXPECT_EQ(queue.pop()->kind, "b");
  EXPECT_EQ(queue.pop()->kind, "c");
  EXPECT_FALSE(queue.pop());
}

}  // namespace
}  // namespace dynolog
