// The event loop over Asio's io_context.
#include "net/event_loop.h"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

namespace dynolog {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Shared with the handler in flight, so that a callback may destroy its own timer or watch.
struct TimerCore {
  TimerCore(asio::io_context& context, std::function<void()> callback)
      : timer(context), work(std::move(callback)) {}
  asio::steady_timer timer;
  std::function<void()> work;
  bool armed = true;
};

struct DescriptorCore {
  DescriptorCore(asio::io_context& context, std::function<void()> callback)
      : source(context), work(std::move(callback)) {}
  asio::posix::stream_descriptor source;
  std::function<void()> work;
  bool live = true;
};

struct SignalCore {
  SignalCore(asio::io_context& context, std::function<void()> callback)
      : source(context), work(std::move(callback)) {}
  asio::signal_set source;
  std::function<void()> work;
  bool live = true;
};

void arm(const std::shared_ptr<DescriptorCore>& core) {
  core->source.async_wait(asio::posix::stream_descriptor::wait_read, [core](error_code error) {
    if (error || !core->live) return;
    core->work();
    if (core->live) arm(core);
  });
}

void arm(const std::shared_ptr<SignalCore>& core) {
  core->source.async_wait([core](error_code error, int) {
    if (error || !core->live) return;
    core->work();
    if (core->live) arm(core);
  });
}

}  // namespace

struct Timer::State {
  explicit State(std::shared_ptr<TimerCore> shared) : core(std::move(shared)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!core->armed) return;
    core->armed = false;
    core->timer.cancel();
  }
  std::shared_ptr<TimerCore> core;
};

Timer::Timer() = default;
Timer::Timer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&&) noexcept = default;
Timer::~Timer() = default;
void Timer::cancel() { state_.reset(); }
bool Timer::armed() const { return state_ && state_->core->armed; }

struct Watch::State {
  std::shared_ptr<DescriptorCore> descriptor;  // one of the two
  std::shared_ptr<SignalCore> signal;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (descriptor) {
      descriptor->live = false;
      descriptor->source.release();  // the descriptor belongs to the caller
    }
    if (signal) {
      signal->live = false;
      error_code ignored;
      signal->source.cancel(ignored);  // lets go of the handler, and with it of the core
      signal->source.clear(ignored);
    }
  }
};

Watch::Watch() = default;
Watch::Watch(std::unique_ptr<State> state) : state_(std::move(state)) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;
Watch::~Watch() = default;

struct EventLoop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::shared_ptr<Children> children = std::make_shared<Children>();
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  impl_->context.run();
  impl_->context.restart();  // afterwards, so that a stop() before run() counts
}

std::shared_ptr<Children> EventLoop::children() { return impl_->children; }

void EventLoop::stop() { impl_->context.stop(); }

void EventLoop::post(std::function<void()> work) { asio::post(impl_->context, std::move(work)); }

Timer EventLoop::after(Nanoseconds delay, std::function<void()> work) {
  auto core = std::make_shared<TimerCore>(impl_->context, std::move(work));
  core->timer.expires_after(delay);
  core->timer.async_wait([core](error_code) {
    // A timer that has expired but not run yet can no longer be cancelled in Asio: the flag
    // decides.
    if (!core->armed) return;
    core->armed = false;
    core->work();
  });
  return Timer(std::make_unique<Timer::State>(std::move(core)));
}

// A descriptor that epoll does not take is a bug of the caller: it ends the program (noexcept).
Watch EventLoop::watch_readable(int fd, std::function<void()> work) {
  return [&]() noexcept {
    auto state = std::make_unique<Watch::State>();
    state->descriptor = std::make_shared<DescriptorCore>(impl_->context, std::move(work));
    state->descriptor->source.assign(fd);
    arm(state->descriptor);
    return Watch(std::move(state));
  }();
}

Watch EventLoop::on_signal(int signal_number, std::function<void()> work) {
  return [&]() noexcept {
    auto state = std::make_unique<Watch::State>();
    state->signal = std::make_shared<SignalCore>(impl_->context, std::move(work));
    state->signal->source.add(signal_number);
    arm(state->signal);
    return Watch(std::move(state));
  }();
}

boost::asio::io_context& EventLoop::context() { return impl_->context; }

}  // namespace dynolog
