// The RPC's and the Kineto thread's counters as one list that the metrics thread may read.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ipc/kineto_thread.h"
#include "rpc/server.h"

namespace dynolog {

class CounterSnapshot {
 public:
  using Values = std::vector<std::pair<std::string, std::uint64_t>>;

  // From the loop's thread, for each event: only copies numbers.
  void publish(const KinetoCounters& kineto, const rpc::ServerCounters& server);
  // From any thread.
  [[nodiscard]] Values read() const;

 private:
  mutable std::mutex mutex_;
  KinetoCounters kineto_;
  rpc::ServerCounters server_;
};

}  // namespace dynolog
