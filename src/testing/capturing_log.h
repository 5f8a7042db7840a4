// A log that keeps its lines for a test to look at.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace dynolog {

class CapturingLog final : public Log {
 public:
  struct Line {
    LogLevel level;
    std::string text;
  };

  void write(LogLevel level, std::string_view line) override {
    const std::scoped_lock lock(mutex_);
    lines_.push_back({level, std::string(line)});
  }

  [[nodiscard]] std::vector<Line> lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  [[nodiscard]] std::size_t count(std::string_view part) const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        lines_, [part](const Line& line) { return line.text.contains(part); }));
  }
  [[nodiscard]] bool contains(std::string_view part) const { return count(part) > 0; }

 private:
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

}  // namespace dynolog
