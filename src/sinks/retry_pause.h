// How long to wait before something is tried again: twice as long each time, up to a limit, unless
// the other side says when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace dynolog {

class RetryPause {
 public:
  using milliseconds = std::chrono::milliseconds;
  // Of a pause, in thousandths: chosen at random between the two, so that a thousand hosts do not
  // come back at one instant.
  static constexpr std::int64_t kLeastShare = 800;
  static constexpr std::int64_t kGreatestShare = 1200;

  // What the other side asks for is obeyed up to `longest`.
  RetryPause(milliseconds first, milliseconds last, milliseconds longest);

  // After an attempt that failed. `asked`: for how long the other side wants to be left alone; a
  // pause is never shorter than that, and never shorter than its own.
  [[nodiscard]] milliseconds next(std::optional<milliseconds> asked, std::int64_t share);
  // After one that did not.
  void restart() { pause_ = first_; }

 private:
  milliseconds first_;
  milliseconds last_;
  milliseconds longest_;
  milliseconds pause_;
};

}  // namespace dynolog
