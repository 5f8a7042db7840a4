// Fills the frame: between begin_source() and end_source() it is one collector's Samples.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "metrics/frame.h"
#include "metrics/samples.h"
#include "metrics/series_book.h"

namespace dynolog {

using AbsentCounts = std::array<std::uint64_t, kAbsentReasons>;

class FrameWriter final : public Samples {
 public:
  FrameWriter(std::size_t sources, std::size_t max_series);

  void begin_tick(WallTime wall, MonotonicTime monotonic);
  void begin_source(SourceIndex source, MonotonicTime now);
  // What the source has not written becomes absent: not reported, or for the error's reason.
  void end_source(const Status& status);
  // Valid until the next begin_tick().
  [[nodiscard]] const Frame& finish_tick();

  [[nodiscard]] const AbsentCounts& absences(SourceIndex source) const {
    return sources_[source].absences;
  }
  // What was told since the last call.
  [[nodiscard]] std::vector<Event> take_events() { return std::exchange(events_, {}); }
  // Why open() refused the first series it refused since the last call.
  [[nodiscard]] std::optional<std::string> take_open_error(SourceIndex source);

  using Samples::open;
  [[nodiscard]] SeriesHandle open(const MetricDescriptor& descriptor,
                                  std::span<const std::string_view> label_values) override;
  [[nodiscard]] SeriesHandle open(std::shared_ptr<const MetricDescriptor> descriptor,
                                  std::span<const std::string_view> label_values) override;
  void close(SeriesHandle& handle) override;
  void set(SeriesHandle handle, double value) override;
  void absent(SeriesHandle handle, AbsentReason reason) override;
  void tell(Event event) override { events_.push_back(std::move(event)); }
  void read_at(MonotonicTime time) override { frame_.sources_[current_].time = time; }
  [[nodiscard]] WallTime wall() const override { return frame_.wall_; }

 private:
  struct Source {
    std::vector<Slot> slots;
    std::size_t written = 0;  // of its slots, in this run
    AbsentCounts absences{};
    std::optional<std::string> open_error;
  };
  SeriesHandle adopt(const Result<Slot>& slot);
  void mark(Slot slot);
  void make_absent(Slot slot, AbsentReason reason);

  SeriesBook book_;
  Frame frame_;
  std::vector<std::uint64_t> written_at_;  // by slot: the tick of its last write
  std::vector<Source> sources_;
  std::vector<Event> events_;
  SourceIndex current_ = 0;
};

}  // namespace dynolog
