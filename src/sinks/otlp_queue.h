// Requests that wait for a receiver: in order, one at a time, tried again while that may help,
// within a bound of bytes. On one loop's thread but for what says otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "metrics/sink.h"
#include "net/event_loop.h"
#include "net/http_client.h"
#include "sinks/retry_pause.h"

namespace dynolog {

struct OtlpQueueOptions {
  std::string target;                                         // "/v1/metrics"
  std::vector<std::pair<std::string, std::string>> fields{};  // of each request
  std::chrono::milliseconds timeout{30'000};                  // of one request
  std::size_t max_batches = 1000;
  std::size_t max_bytes = 4U << 20U;
  // Between two attempts, give or take a fifth: doubles from the first to the last. A receiver that
  // says when it will take more is obeyed, up to the longest.
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds last_pause{30'000};
  std::chrono::milliseconds longest_pause{300'000};
};

struct OtlpParcel {
  std::shared_ptr<const std::string> bytes;  // as they are sent
  std::size_t points = 0;
};

class OtlpQueue {
 public:
  // All outlive the queue.
  struct World {
    EventLoop& loop;
    const Clock& clock;
    Log& log;
    HttpClient& client;
  };
  OtlpQueue(World world, OtlpQueueOptions options);

  void put(OtlpParcel parcel);

  // Any thread. Lengths and drops are in requests.
  [[nodiscard]] SinkQueue counts() const;
  // Any thread: why nothing gets through now, until something does.
  [[nodiscard]] std::optional<Error> problem() const;
  // Called when the last request has been settled; for the end.
  void when_empty(std::function<void()> call);

 private:
  struct Counted {
    mutable std::mutex mutex;
    SinkQueue queue;
    std::optional<Error> problem;
  };
  void send();
  void answered(Result<HttpReply> reply);
  void accepted(const HttpReply& reply);
  void refused(const HttpReply& reply);
  void try_again(Error error, std::optional<std::chrono::milliseconds> asked);
  void settle();
  void drop_oldest();
  void count();
  void failed(Error error);
  void say(const std::string& about, const std::string& what, const std::string& sentence);

  World world_;
  const OtlpQueueOptions options_;
  std::deque<OtlpParcel> waiting_;  // the first may be on its way
  std::size_t bytes_ = 0;
  bool busy_ = false;  // sending, or pausing
  RetryPause pause_;
  Timer retry_;
  std::uint64_t dropped_ = 0;
  struct Said {
    std::string what;
    MonotonicTime at{};
  };
  std::map<std::string, Said> said_;  // to the log, by what it was about
  std::function<void()> when_empty_;
  Counted counted_;
};

}  // namespace dynolog
