// The daemon's one event-loop thread. Owns all state; everything else posts to it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "net/children.h"

namespace boost::asio {
class io_context;
}

namespace dynolog {

// A one-shot timer. Destroying or resetting it before it fires cancels it for certain: the callback
// then never runs.
class Timer {
 public:
  struct State;
  Timer();
  explicit Timer(std::unique_ptr<State> state);
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;
  ~Timer();
  void cancel();
  [[nodiscard]] bool armed() const;  // neither fired nor cancelled

 private:
  std::unique_ptr<State> state_;
};

// Calls back each time a descriptor is readable, until it is destroyed. Does not own the
// descriptor; destroy the watch before closing it.
class Watch {
 public:
  struct State;
  Watch();
  explicit Watch(std::unique_ptr<State> state);
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  ~Watch();

 private:
  std::unique_ptr<State> state_;
};

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs on the calling thread until stop().
  void run();
  // From any thread; safe in a callback.
  void stop();
  // From any thread: runs `work` on the loop's thread, in order.
  void post(std::function<void()> work);
  // On the loop's thread only (or before run()).
  [[nodiscard]] Timer after(Nanoseconds delay, std::function<void()> work);
  [[nodiscard]] Watch watch_readable(int fd, std::function<void()> work);
  // SIGTERM, SIGINT, SIGHUP, ... arrive here instead of killing the process. Call once per signal.
  [[nodiscard]] Watch on_signal(int signal_number, std::function<void()> work);
  [[nodiscard]] std::shared_ptr<Children> children();
  // For the .cpp files of net and rpc, which speak Asio.
  [[nodiscard]] boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynolog
