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
#include "metrics/interval_names.h"
#include "metrics/interval_values.h"

namespace dynolog {

struct NamedValue {
  std::string_view name;
  double value = 0;
};

class IntervalRecord {
 public:
  explicit IntervalRecord(Nanoseconds longest_interval)
      : sums_(longest_interval, IntervalValues::Of::all) {}

  // Each frame, once.
  void add(const Frame& frame);
  // The values of the frames since the last call, up to the one that was added last: of sources
  // that were read in that time. Valid until the next call of either.
  [[nodiscard]] std::span<const NamedValue> take();

 private:
  struct Single {
    std::string name;
    Slot slot = 0;
    bool is_counter = false;
  };
  struct Combined {
    std::string text;  // its name, with any label's value
    const IntervalName* name = nullptr;
    Slot part = 0;
    std::vector<Slot> whole;
  };
  void plan(const SeriesTable& table);
  void plan_combined(const SeriesTable& table, const IntervalName& name);
  [[nodiscard]] std::optional<double> value_of(const Combined& item) const;
  [[nodiscard]] std::optional<double> share_of(const Combined& item) const;
  void add_closed();

  IntervalValues sums_;
  WallTime newest_{};
  std::shared_ptr<const SeriesTable> planned_for_;
  std::vector<Combined> combined_;
  std::vector<Single> singles_;
  std::vector<std::string> closed_names_;
  std::vector<NamedValue> values_;
};

}  // namespace dynolog
