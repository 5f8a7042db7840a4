// One connection to a daemon: blocking calls with deadlines, bounded frames. The daemon counts as
// hostile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "cli/endpoint.h"

namespace dynolog {

struct Received {
  enum class What { frame, closed, late, interrupted, garbled };
  What what = What::closed;
  std::string text;  // the frame, or a sentence on what is garbled
};

class Connection {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const Endpoint& endpoint,
                                                                const Clock& clock,
                                                                MonotonicTime deadline);
  virtual ~Connection() = default;

  // A peer that closed is no error here: receive() tells, after whatever it said before.
  [[nodiscard]] virtual Status send(std::string_view payload, MonotonicTime deadline) = 0;
  // `interrupt_fd` ends the waiting when it is readable; -1: none.
  [[nodiscard]] virtual Received receive(std::optional<MonotonicTime> deadline,
                                         int interrupt_fd) = 0;
};

// Waits for `interrupt_fd` until `deadline`; true when it is readable. -1 waits for time only.
[[nodiscard]] bool wait_interruptibly(int interrupt_fd, const Clock& clock, MonotonicTime deadline);

}  // namespace dynolog
