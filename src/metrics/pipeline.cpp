// The pipeline's thread.
#include "metrics/pipeline.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "metrics/event_queue.h"
#include "metrics/sampler.h"
#include "metrics/tick_timer.h"

namespace dynolog {
namespace {

class ThreadedPipeline final : public Pipeline {
 public:
  ThreadedPipeline(const PipelineOptions& options,
                   std::vector<std::unique_ptr<Collector>> collectors,
                   std::vector<std::unique_ptr<Sink>> sinks, const Clock& clock, Log& log,
                   TickTimer timer, UniqueFd wake)
      : sampler_(options, std::move(collectors), std::move(sinks), clock, log),
        events_(options.max_queued_events),
        timer_(std::move(timer)),
        wake_(std::move(wake)),
        log_(log),
        thread_([this] { run(); }) {}

  ~ThreadedPipeline() override {
    stopping_.store(true);
    wake();
    thread_.join();
  }

  void publish(Event event) override {
    events_.push(std::move(event));
    wake();
  }
  [[nodiscard]] std::vector<StageState> states() const override { return sampler_.states(); }
  [[nodiscard]] bool alive() override {
    const bool came_round = came_round_ == asked_;
    ++asked_;
    wake();
    return came_round;
  }

 private:
  void wake() {
    const std::uint64_t one = 1;
    // Can only fail when the counter is full, and then the thread is awake anyway.
    [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof(one));
  }

  void run() {
    ::pthread_setname_np(::pthread_self(), "metrics");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals are the main thread's
    sampler_.tick(0, 0);
    while (!stopping_.load()) {
      pollfd watched[] = {{timer_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      if (::poll(watched, 2, -1) < 0 && errno != EINTR) {
        log_.error("the metrics thread ends: {}", fail_errno(errno, "poll").error().message);
        return;
      }
      if (watched[1].revents != 0) take_wake();
      deliver_events();
      if (watched[0].revents != 0 && !take_tick()) return;
    }
    deliver_events();
  }

  void take_wake() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof(count));
    came_round_ = asked_.load();
  }

  bool take_tick() {
    const auto due = timer_.take();
    if (!due) {
      log_.error("the metrics thread ends: {}", due.error().message);
      return false;
    }
    if (*due == 0 || stopping_.load()) return true;
    late_ticks_ += *due - 1;
    sampler_.tick(late_ticks_, events_.dropped());
    return true;
  }

  void deliver_events() {
    while (const auto event = events_.pop()) sampler_.deliver(*event);
  }

  Sampler sampler_;
  EventQueue events_;
  TickTimer timer_;
  UniqueFd wake_;
  Log& log_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::uint64_t> came_round_ = 0;
  std::uint64_t late_ticks_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

Result<std::unique_ptr<Pipeline>> Pipeline::start(
    const PipelineOptions& options, std::vector<std::unique_ptr<Collector>> collectors,
    std::vector<std::unique_ptr<Sink>> sinks, const Clock& clock, Log& log) {
  auto timer = TickTimer::create(options.interval, read_timer);
  if (!timer) return std::unexpected(timer.error());
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return fail_errno(errno, "eventfd");
  return std::make_unique<ThreadedPipeline>(options, std::move(collectors), std::move(sinks), clock,
                                            log, std::move(*timer), std::move(wake));
}

}  // namespace dynolog
