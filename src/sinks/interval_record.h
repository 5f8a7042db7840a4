// A frame as flat per-interval values, under the names that dynolog users know: what the JSON lines
// and the relay say.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/frame.h"
#include "metrics/frame_rates.h"
#include "metrics/interval_names.h"

namespace dynolog {

struct NamedValue {
  std::string_view name;
  double value = 0;
};

class IntervalRecord {
 public:
  explicit IntervalRecord(Nanoseconds longest_interval) : rates_(longest_interval) {}

  // The values of sources that were read at this tick. Call once for each frame; valid until the
  // next call.
  [[nodiscard]] std::span<const NamedValue> update(const Frame& frame);

 private:
  struct Single {
    std::string name;
    Slot slot = 0;
    bool is_counter = false;
  };
  struct Combined {
    const IntervalName* name = nullptr;
    Slot part = 0;
    std::vector<Slot> whole;
  };
  void plan(const SeriesTable& table);
  void plan_combined(const SeriesTable& table, const IntervalName& name);
  [[nodiscard]] std::optional<double> value_of(const Combined& item, const Frame& frame) const;
  [[nodiscard]] std::optional<double> share_of(const Combined& item) const;

  FrameRates rates_;
  std::shared_ptr<const SeriesTable> planned_for_;
  std::vector<Combined> combined_;
  std::vector<Single> singles_;
  std::vector<NamedValue> values_;
};

}  // namespace dynolog
