// What a collector writes into: its own part of the frame.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "metrics/descriptor.h"
#include "metrics/event.h"
#include "metrics/frame.h"

namespace dynolog {

// Names an open series of one collector. A default one, and one that open() could not serve, takes
// values too: they are counted as rejected and go nowhere.
class SeriesHandle {
 public:
  SeriesHandle() = default;
  [[nodiscard]] bool valid() const { return slot_ != kNone; }

 private:
  friend class FrameWriter;
  static constexpr Slot kNone = std::numeric_limits<Slot>::max();
  explicit SeriesHandle(Slot slot) : slot_(slot) {}
  Slot slot_ = kNone;
};

class Samples {
 public:
  virtual ~Samples() = default;

  // `descriptor` is constexpr data with static storage. One value for each label key.
  [[nodiscard]] virtual SeriesHandle open(const MetricDescriptor& descriptor,
                                          std::span<const std::string_view> label_values) = 0;
  [[nodiscard]] SeriesHandle open(const MetricDescriptor& descriptor,
                                  std::initializer_list<std::string_view> label_values) {
    return open(descriptor, std::span(label_values.begin(), label_values.size()));
  }
  // The same for a descriptor that is no constant: its series keeps it.
  [[nodiscard]] virtual SeriesHandle open(std::shared_ptr<const MetricDescriptor> descriptor,
                                          std::span<const std::string_view> label_values) = 0;
  // The device is gone. The handle becomes invalid.
  virtual void close(SeriesHandle& handle) = 0;

  virtual void set(SeriesHandle handle, double value) = 0;  // not finite: absent, implausible
  virtual void absent(SeriesHandle handle, AbsentReason reason) = 0;

  // For values that were read earlier, by a worker: when that was. Default: when collect() was
  // called.
  virtual void read_at(MonotonicTime time) = 0;
  // Something happened: for whoever takes events.
  virtual void tell(Event event) = 0;
  // The tick's wall time, for gauges that are ages or starts.
  [[nodiscard]] virtual WallTime wall() const = 0;
};

}  // namespace dynolog
