// Who answers the polls of a benchmark: the real Kineto thread, or the least that could.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "ipc/kineto_thread.h"

namespace dynolog {

struct PollAnswers {
  std::unordered_map<std::int32_t, std::int64_t> sent_ns;  // by pid, the last
  KinetoCounters counters;
};

class PollServer {
 public:
  virtual ~PollServer() = default;
  [[nodiscard]] virtual Nanoseconds cpu() const = 0;   // of its thread, so far
  [[nodiscard]] virtual std::size_t told() const = 0;  // answers that are all done with
  [[nodiscard]] virtual PollAnswers end() = 0;         // once
};

// nullptr after a line on stderr when it could not be started.
[[nodiscard]] std::unique_ptr<PollServer> start_dynolog(const std::string& abstract_name);
// Receives and sends the same empty answer to whoever asks, at the same priority, and looks at
// nothing.
[[nodiscard]] std::unique_ptr<PollServer> start_floor(const std::string& abstract_name);

}  // namespace dynolog
