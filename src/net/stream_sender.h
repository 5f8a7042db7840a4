// Messages over a TCP or unix stream to a reader that may stall, be away or come back: a bounded
// queue and a thread of its own, which connects anew.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "net/connector.h"

namespace dynolog {

struct StreamSenderOptions {
  Destination to;
  std::string executable;  // see HostResolver
  std::string thread_name = "stream";
  std::size_t max_queued_bytes = 1U << 20U;
  std::chrono::milliseconds connect_time{10'000};
  // Between two attempts: doubles from the first to the last. Forgiven by a message that got out.
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds last_pause{60'000};
  // A peer that acknowledges nothing for so long is gone.
  std::chrono::milliseconds unanswered_time{30'000};
};

struct StreamCounters {
  std::uint64_t queued = 0;  // messages
  std::uint64_t dropped = 0;
  std::uint64_t failures = 0;  // attempts to connect, and connections that broke
};

class StreamSender {
 public:
  // `log` outlives the sender.
  [[nodiscard]] static std::unique_ptr<StreamSender> start(StreamSenderOptions options, Log& log);
  // Writes what the peer takes without waiting, ends at once and joins the thread.
  virtual ~StreamSender() = default;

  // Never blocks. When the queue is full the oldest messages go. A message that a broken connection
  // cut short is sent again, whole, on the next one.
  virtual void put(std::string message) = 0;
  [[nodiscard]] virtual StreamCounters counters() const = 0;
  // Why nothing gets through now; nullopt: it does, or was not tried yet.
  [[nodiscard]] virtual std::optional<Error> problem() const = 0;
};

}  // namespace dynolog
