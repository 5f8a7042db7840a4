// What is known at one tick: a value or the reason of its absence for every series, and when each
// source was read. Sources of slower tiers keep their last values between their readings.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "metrics/series_table.h"

namespace dynolog {

// Why a series has no value. Counted for each collector, exported, and never replaced by a 0.
enum class AbsentReason : std::uint8_t {
  not_reported,  // the source was read and did not have it
  unavailable,   // not offered on this host or to this user
  unreadable,    // the source could not be read
  malformed,     // the source's text was not what it should be
  implausible,   // a number that cannot be true
  stale,         // the worker that reads it is late
  limit,         // no room for another series
};
inline constexpr std::size_t kAbsentReasons = 7;
[[nodiscard]] std::string_view to_string(AbsentReason reason);

// A slot's state in one byte: present, or absent for a reason.
class ValueState {
 public:
  constexpr ValueState() : ValueState(AbsentReason::not_reported) {}
  constexpr explicit ValueState(AbsentReason reason)
      : code_(static_cast<std::uint8_t>(static_cast<std::uint8_t>(reason) + 1)) {}
  [[nodiscard]] static constexpr ValueState present() {
    ValueState state;
    state.code_ = 0;
    return state;
  }
  [[nodiscard]] constexpr bool is_present() const { return code_ == 0; }
  [[nodiscard]] constexpr AbsentReason reason() const {  // only when absent
    return static_cast<AbsentReason>(code_ - 1);
  }

 private:
  std::uint8_t code_;
};

struct SourceReading {
  MonotonicTime time{};  // when the values were read; rates divide by the distance of two of these
  bool fresh = false;    // read at this tick
};

class Frame {
 public:
  [[nodiscard]] WallTime wall() const { return wall_; }
  [[nodiscard]] MonotonicTime monotonic() const { return monotonic_; }
  [[nodiscard]] std::uint64_t tick() const { return tick_; }
  [[nodiscard]] const std::shared_ptr<const SeriesTable>& table() const { return table_; }
  [[nodiscard]] std::span<const double> values() const { return values_; }
  [[nodiscard]] std::span<const ValueState> states() const { return states_; }
  [[nodiscard]] std::span<const SourceReading> sources() const { return sources_; }

  [[nodiscard]] std::optional<double> value(Slot slot) const {
    return states_[slot].is_present() ? std::optional(values_[slot]) : std::nullopt;
  }
  [[nodiscard]] const SourceReading& reading_of(const Series& series) const {
    return sources_[series.source];
  }

 private:
  friend class FrameWriter;
  WallTime wall_{};
  MonotonicTime monotonic_{};
  std::uint64_t tick_ = 0;
  std::shared_ptr<const SeriesTable> table_;
  std::vector<double> values_;
  std::vector<ValueState> states_;
  std::vector<SourceReading> sources_;
};

}  // namespace dynolog
