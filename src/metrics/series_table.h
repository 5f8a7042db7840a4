// Which series there are. A series is a descriptor plus label values; it keeps its slot for its
// life, and a slot's next owner has another id.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "metrics/descriptor.h"

namespace dynolog {

using SeriesId = StrongId<struct SeriesIdTag, std::uint64_t>;  // never used twice in a process
using Slot = std::uint32_t;
using SourceIndex = std::uint16_t;  // of the collector that opened it, within one pipeline

struct Series {
  SeriesId id;
  const MetricDescriptor* descriptor = nullptr;  // lives as long as the series
  std::vector<std::string> label_values;  // one for each of the descriptor's keys, clean text
  SourceIndex source = 0;
  std::shared_ptr<const MetricDescriptor> owned = nullptr;  // where it is no constexpr data
};

// Immutable once published: readers of any thread may hold one. A new one replaces it when series
// open or close, and shares the Series that stay.
class SeriesTable {
 public:
  SeriesTable() = default;
  explicit SeriesTable(std::vector<std::shared_ptr<const Series>> slots)
      : slots_(std::move(slots)) {}

  // nullptr: nobody has this slot at present.
  [[nodiscard]] const Series* at(Slot slot) const { return slots_[slot].get(); }
  // Slots in use are below this; frames have as many.
  [[nodiscard]] Slot size() const { return static_cast<Slot>(slots_.size()); }

 private:
  std::vector<std::shared_ptr<const Series>> slots_;
};

}  // namespace dynolog
