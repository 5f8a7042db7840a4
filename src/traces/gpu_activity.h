// When each GPU was busy, and when it communicated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/interval_union.h"
#include "traces/trace_summary.h"

namespace dynolog {

// Holds a bounded number of stretches over all GPUs; beyond it those close to each other
// are joined.
class GpuActivity {
 public:
  enum class Kind { computation, communication };

  // A kernel, copy or memset. Requires start < end, nanoseconds within kMaxTraceNs (trace_time.h).
  void add(int device, std::int64_t start, std::int64_t end, Kind kind);
  // After the last one.
  void finish();

  [[nodiscard]] bool empty() const { return devices_.empty(); }
  [[nodiscard]] std::int64_t last() const;  // requires !empty()
  // By device. Requires from < to; the times of gaps are in the same clock.
  [[nodiscard]] std::vector<GpuTime> within(std::int64_t from, std::int64_t to) const;

  [[nodiscard]] bool coarse() const;                         // the times are estimates
  [[nodiscard]] bool left_out() const { return left_out_; }  // there were more GPUs

  static constexpr std::size_t kMaxStretches = 300'000;

 private:
  struct Device {
    int id;
    IntervalUnion busy;
    IntervalUnion communication;
  };
  Device* device_of(int id);
  void settle(IntervalUnion& stretches);

  std::vector<Device> devices_;
  std::size_t last_ = 0;  // most follow one of the same GPU
  bool left_out_ = false;
};

}  // namespace dynolog
