// One connection to a daemon: blocking calls with deadlines, bounded frames. The daemon counts as
// hostile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "cli/endpoint.h"

namespace dynolog {

struct Received {
  enum class What { frame, nothing, closed, late, interrupted, garbled };
  What what = What::closed;
  std::string text;  // the frame, or a sentence on what is garbled
};

class Connection {
 public:
  // `interrupt_fd` ends the waiting for another host when it is readable; -1: none.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const Endpoint& endpoint,
                                                                const Clock& clock,
                                                                MonotonicTime deadline,
                                                                int interrupt_fd);
  virtual ~Connection() = default;

  // A peer that closed is no error here: receive() tells, after whatever it said before.
  [[nodiscard]] virtual Status send(std::string_view payload, MonotonicTime deadline) = 0;
  // `interrupt_fd` ends the waiting when it is readable; -1: none.
  [[nodiscard]] virtual Received receive(std::optional<MonotonicTime> deadline,
                                         int interrupt_fd) = 0;
  // What has come, without waiting: `nothing` when no frame is whole yet.
  [[nodiscard]] virtual Received try_receive() = 0;
  [[nodiscard]] virtual int fd() const = 0;  // readable when try_receive() has something to do
};

// Waits until one of `fds` (-1: none) is readable; no deadline unless one is given.
enum class Waited { readable, interrupted, late };
[[nodiscard]] Waited wait_for_any(std::span<const int> fds, int interrupt_fd, const Clock& clock,
                                  std::optional<MonotonicTime> deadline);

// Waits for `interrupt_fd` until `deadline`; true when it is readable. -1 waits for time only.
[[nodiscard]] bool wait_interruptibly(int interrupt_fd, const Clock& clock, MonotonicTime deadline);

}  // namespace dynolog
