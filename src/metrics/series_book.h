// Opens and closes series, and publishes the table. Of the pipeline's thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "metrics/series_table.h"

namespace dynolog {

class SeriesBook {
 public:
  explicit SeriesBook(std::size_t max_series);

  // An error of kind exhausted at the limit, invalid for a series that is open already or has not
  // as many values as its descriptor has keys. Values are foreign text: cleaned, at most 256 bytes.
  [[nodiscard]] Result<Slot> open(SourceIndex source, const MetricDescriptor& descriptor,
                                  std::span<const std::string_view> label_values,
                                  std::shared_ptr<const MetricDescriptor> owner = nullptr);
  void close(Slot slot);

  // The table of now: a new object when anything has changed since the last call.
  [[nodiscard]] const std::shared_ptr<const SeriesTable>& publish();
  [[nodiscard]] Slot size() const { return static_cast<Slot>(slots_.size()); }

 private:
  std::size_t max_series_;
  std::uint64_t next_id_ = 1;
  std::vector<std::shared_ptr<const Series>> slots_;
  std::vector<Slot> free_;
  std::unordered_map<std::string, Slot> by_key_;
  std::shared_ptr<const SeriesTable> published_;
  bool changed_ = false;
};

}  // namespace dynolog
