// What the daemon itself costs, for `dyno status`.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/system_root.h"
#include "kernel/proc_self.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

class OwnCost {
 public:
  struct World {
    const Clock& clock;
    SystemRoot root;
    long page_size;
    std::function<SelfUsage()> usage;
    std::function<std::uint64_t()> workers;  // how many run
    std::function<std::uint64_t()> worker_restarts;
  };
  explicit OwnCost(World world);

  // From any thread, when the collector `self` runs: rates are told since the last time but one.
  void note();
  // On the loop's thread. Whoever asks every moment does not make it cost more: memory and
  // descriptors are read once a second.
  void fill(rpc::StatusReply& reply);

 private:
  struct Point {
    MonotonicTime time;
    SelfUsage usage;
  };
  [[nodiscard]] Point point() const { return {world_.clock.monotonic(), world_.usage()}; }
  [[nodiscard]] Point since() const;
  void read_now(MonotonicTime now);

  World world_;
  SelfDescriptors descriptors_;
  mutable std::mutex mutex_;
  Point before_;  // these two: behind the mutex
  Point newest_;
  std::optional<MonotonicTime> read_at_;
  rpc::OwnCost read_;
  std::uint64_t resident_bytes_ = 0;
};

}  // namespace dynolog
