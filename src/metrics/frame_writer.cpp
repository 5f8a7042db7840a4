// Filling the frame, without an allocation once the series are open.
#include "metrics/frame_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dynolog {
namespace {

AbsentReason reason_of(const Status& status) {
  if (status) return AbsentReason::not_reported;
  switch (status.error().kind) {
    case ErrorKind::unavailable:
    case ErrorKind::denied:
    case ErrorKind::not_found:
      return AbsentReason::unavailable;
    case ErrorKind::invalid:
      return AbsentReason::malformed;
    case ErrorKind::timed_out:
      return AbsentReason::stale;
    case ErrorKind::exhausted:
      return AbsentReason::limit;
    default:
      return AbsentReason::unreadable;
  }
}

}  // namespace

FrameWriter::FrameWriter(std::size_t sources, std::size_t max_series)
    : book_(max_series), sources_(sources) {
  frame_.sources_.resize(sources);
  frame_.table_ = book_.publish();
}

void FrameWriter::begin_tick(WallTime wall, MonotonicTime monotonic) {
  frame_.wall_ = wall;
  frame_.monotonic_ = monotonic;
  ++frame_.tick_;
  for (SourceReading& source : frame_.sources_) source.fresh = false;
}

void FrameWriter::begin_source(SourceIndex source, MonotonicTime now) {
  current_ = source;
  sources_[source].written = 0;
  frame_.sources_[source] = {now, true};
}

void FrameWriter::end_source(const Status& status) {
  Source& source = sources_[current_];
  if (source.written == source.slots.size()) return;
  const AbsentReason reason = reason_of(status);
  for (const Slot slot : source.slots) {
    if (written_at_[slot] != frame_.tick_) make_absent(slot, reason);
  }
}

const Frame& FrameWriter::finish_tick() {
  frame_.table_ = book_.publish();
  return frame_;
}

std::optional<std::string> FrameWriter::take_open_error(SourceIndex source) {
  return std::exchange(sources_[source].open_error, std::nullopt);
}

SeriesHandle FrameWriter::open(const MetricDescriptor& descriptor,
                               std::span<const std::string_view> label_values) {
  return adopt(book_.open(current_, descriptor, label_values));
}

SeriesHandle FrameWriter::open(std::shared_ptr<const MetricDescriptor> descriptor,
                               std::span<const std::string_view> label_values) {
  const MetricDescriptor& what = *descriptor;
  return adopt(book_.open(current_, what, label_values, std::move(descriptor)));
}

SeriesHandle FrameWriter::adopt(const Result<Slot>& slot) {
  Source& source = sources_[current_];
  if (!slot) {
    if (!source.open_error) source.open_error = slot.error().message;
    return {};
  }
  if (*slot >= frame_.values_.size()) {
    frame_.values_.resize(*slot + 1);
    frame_.states_.resize(*slot + 1);
    written_at_.resize(*slot + 1);
  }
  frame_.states_[*slot] = ValueState(AbsentReason::not_reported);
  written_at_[*slot] = 0;
  source.slots.push_back(*slot);
  return SeriesHandle(*slot);
}

void FrameWriter::close(SeriesHandle& handle) {
  if (!handle.valid()) return;
  const Slot slot = std::exchange(handle, SeriesHandle()).slot_;
  Source& source = sources_[current_];
  if (written_at_[slot] == frame_.tick_) --source.written;
  std::erase(source.slots, slot);
  frame_.states_[slot] = ValueState(AbsentReason::not_reported);
  book_.close(slot);
}

void FrameWriter::set(SeriesHandle handle, double value) {
  if (!handle.valid()) {
    ++sources_[current_].absences[static_cast<std::size_t>(AbsentReason::limit)];
    return;
  }
  if (!std::isfinite(value)) return absent(handle, AbsentReason::implausible);
  frame_.values_[handle.slot_] = value;
  frame_.states_[handle.slot_] = ValueState::present();
  mark(handle.slot_);
}

void FrameWriter::absent(SeriesHandle handle, AbsentReason reason) {
  if (!handle.valid()) {
    ++sources_[current_].absences[static_cast<std::size_t>(reason)];
    return;
  }
  make_absent(handle.slot_, reason);
  mark(handle.slot_);
}

void FrameWriter::mark(Slot slot) {
  if (written_at_[slot] == frame_.tick_) return;
  written_at_[slot] = frame_.tick_;
  ++sources_[current_].written;
}

void FrameWriter::make_absent(Slot slot, AbsentReason reason) {
  frame_.states_[slot] = ValueState(reason);
  ++sources_[current_].absences[static_cast<std::size_t>(reason)];
}

}  // namespace dynolog
