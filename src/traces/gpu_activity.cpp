// One union of busy and one of communicating stretches for each GPU, under one limit.
#include "traces/gpu_activity.h"

#include <algorithm>

namespace dynolog {
namespace {

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

GpuActivity::Device* GpuActivity::device_of(int id) {
  if (last_ < devices_.size() && devices_[last_].id == id) return &devices_[last_];
  for (last_ = 0; last_ < devices_.size(); ++last_) {
    if (devices_[last_].id == id) return &devices_[last_];
  }
  if (devices_.size() >= kMaxSummaryGpus) {
    left_out_ = true;
    return nullptr;
  }
  return &devices_.emplace_back(Device{.id = id, .busy = {}, .communication = {}});
}

void GpuActivity::add(int device, std::int64_t start, std::int64_t end, Kind kind) {
  Device* const entry = device_of(device);
  if (entry == nullptr) return;
  entry->busy.add(start, end);
  if (entry->busy.due()) settle(entry->busy);
  if (kind != Kind::communication) return;
  entry->communication.add(start, end);
  if (entry->communication.due()) settle(entry->communication);
}

void GpuActivity::settle(IntervalUnion& stretches) {
  stretches.settle();
  while (true) {
    std::size_t held = 0;
    IntervalUnion* largest = &stretches;
    for (Device& device : devices_) {
      for (IntervalUnion* each : {&device.busy, &device.communication}) {
        held += each->size();
        if (each->size() > largest->size()) largest = each;
      }
    }
    if (held <= kMaxStretches) return;
    largest->settle();
    largest->coarsen();
  }
}

void GpuActivity::finish() {
  for (Device& device : devices_) {
    settle(device.busy);
    settle(device.communication);
  }
  std::sort(devices_.begin(), devices_.end(),
            [](const Device& a, const Device& b) { return a.id < b.id; });
}

std::int64_t GpuActivity::last() const {
  std::int64_t latest = devices_.front().busy.last();
  for (const Device& device : devices_) latest = std::max(latest, device.busy.last());
  return latest;
}

std::vector<GpuTime> GpuActivity::within(std::int64_t from, std::int64_t to) const {
  std::vector<GpuTime> times;
  for (const Device& device : devices_) {
    const IntervalUnion::Cover busy = device.busy.within(from, to);
    const IntervalUnion::Cover communication = device.communication.within(from, to);
    // Estimates may contradict each other; what is told must not.
    const std::int64_t busy_ns = std::min(busy.covered_ns, to - from - busy.longest_gap_ns);
    times.push_back({.device = device.id,
                     .window_s = seconds(to - from),
                     .busy_s = seconds(busy_ns),
                     .communication_s = seconds(std::min(communication.covered_ns, busy_ns)),
                     .idle_s = seconds(to - from - busy_ns),
                     .longest_gap_s = seconds(busy.longest_gap_ns),
                     .longest_gap_start_ns = busy.longest_gap_start});
  }
  return times;
}

bool GpuActivity::coarse() const {
  return std::any_of(devices_.begin(), devices_.end(), [](const Device& device) {
    return device.busy.coarse() || device.communication.coarse();
  });
}

}  // namespace dynolog
