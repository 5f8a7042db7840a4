// Where frames and events go. A sink chooses the names; it derives rates if it wants them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "metrics/event.h"
#include "metrics/frame.h"

namespace dynolog {

// For sinks with a queue of their own.
struct SinkQueue {
  std::uint64_t length = 0;   // waiting for delivery
  std::uint64_t dropped = 0;  // since the start: the oldest go when the queue is full
  std::uint64_t delivery_failures = 0;
};

// consume() comes from the pipeline's thread, one call at a time, and must not block: slow delivery
// has its own bounded queue. A frame is only valid during the call.
class Sink {
 public:
  virtual ~Sink() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Status consume(const Frame& frame) = 0;
  [[nodiscard]] virtual Status consume(const Event& event) = 0;
  [[nodiscard]] virtual SinkQueue queue() const { return {}; }  // pipeline's thread
};

}  // namespace dynolog
