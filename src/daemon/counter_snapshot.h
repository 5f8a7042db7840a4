// The RPC's and the Kineto thread's counters, for a metrics thread that may ask at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "ipc/kineto_thread.h"
#include "rpc/counters.h"

namespace dynolog {

class CounterSnapshot {
 public:
  // From the loop's thread, for each event: only copies numbers.
  void publish(const KinetoCounters& kineto, const rpc::ServerCounters& server);
  // From any thread; values that only grow, always in the same order. Allocates nothing.
  void visit(const std::function<void(std::string_view name, std::uint64_t value)>& visitor) const;

 private:
  mutable std::mutex mutex_;
  KinetoCounters kineto_;
  rpc::ServerCounters server_;
};

}  // namespace dynolog
