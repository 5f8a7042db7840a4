// Who holds a unix socket's name: for the one sentence that a person needs when it is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/system_root.h"

namespace dynolog {

// Looks seldom and for a short time, since polls wait meanwhile: what was not found in time is
// looked for on from there at the next call.
class NameHolder {
 public:
  explicit NameHolder(const Clock& clock) : clock_(clock) {}

  // "process 1234 (dynolog)", or "a process that cannot be seen from here". `name` is raw: an
  // abstract name with its leading NUL.
  [[nodiscard]] const std::string& find(const SystemRoot& root, std::string_view name);

  static constexpr Nanoseconds kBetween = std::chrono::seconds(5);
  static constexpr Nanoseconds kBudget = Milliseconds(10);
  // At the first call nobody is served yet.
  static constexpr Nanoseconds kFirstBudget = Milliseconds(250);

 private:
  void search(const SystemRoot& root, MonotonicTime deadline);

  const Clock& clock_;
  std::optional<MonotonicTime> looked_;
  std::set<std::string> links_;  // "socket:[inode]" of each socket bound to the name
  std::int32_t next_pid_ = 0;    // processes below it do not hold them
  bool found_ = false;
  std::string answer_;
};

}  // namespace dynolog
