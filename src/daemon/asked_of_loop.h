// What a collector asks for on the pipeline's thread, and a worker of the loop's thread answers.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "collectors/asked.h"
#include "net/event_loop.h"

namespace dynolog {

template <class T>
class AskedOfLoop final : public Asked<T>, public std::enable_shared_from_this<AskedOfLoop<T>> {
 public:
  using Done = std::function<void(Result<T>)>;
  // `start` is called on the loop's thread and calls its argument there later on. The loop, the
  // clock and what `start` uses outlive the pipeline, whose collectors ask.
  AskedOfLoop(EventLoop& loop, const Clock& clock, std::function<void(Done)> start)
      : loop_(loop), clock_(clock), start_(std::move(start)) {}

  void ask() override {
    loop_.post([weak = this->weak_from_this()] {
      const auto self = weak.lock();
      if (!self || std::exchange(self->under_way_, true)) return;
      const MonotonicTime now = self->clock_.monotonic();
      self->start_([weak, now](Result<T> value) {
        if (const auto asker = weak.lock()) asker->take(now, std::move(value));
      });
    });
  }

  [[nodiscard]] std::shared_ptr<const Answer<T>> newest() const override {
    const std::scoped_lock lock(mutex_);
    return newest_;
  }

 private:
  void take(MonotonicTime time, Result<T> value) {
    under_way_ = false;
    auto answer = std::make_shared<const Answer<T>>(Answer<T>{time, std::move(value)});
    const std::scoped_lock lock(mutex_);
    newest_ = std::move(answer);
  }

  EventLoop& loop_;
  const Clock& clock_;
  std::function<void(Done)> start_;
  bool under_way_ = false;  // the loop's thread's
  mutable std::mutex mutex_;
  std::shared_ptr<const Answer<T>> newest_;
};

}  // namespace dynolog
