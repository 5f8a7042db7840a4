// Events on their way from any thread to the pipeline's. Bounded: the oldest go first.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "metrics/event.h"

namespace dynolog {

// Every call from any thread.
class EventQueue {
 public:
  explicit EventQueue(std::size_t max_length) : max_length_(max_length) {}

  void push(Event event) {
    const std::scoped_lock lock(mutex_);
    if (events_.size() >= max_length_) {
      events_.pop_front();
      ++dropped_;
    }
    events_.push_back(std::move(event));
  }
  [[nodiscard]] std::optional<Event> pop() {
    const std::scoped_lock lock(mutex_);
    if (events_.empty()) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  [[nodiscard]] std::uint64_t dropped() const {
    const std::scoped_lock lock(mutex_);
    return dropped_;
  }

 private:
  const std::size_t max_length_;
  mutable std::mutex mutex_;
  std::deque<Event> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace dynolog
