// Counting the host's processes by state, without looking closer at any of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kernel/sysfs.h"

namespace dynolog {

// What /proc/<pid>/stat says first; the name in it may hold anything.
struct ProcessBrief {
  char state = '?';  // R, S, D, T, t, Z, X, I
  std::uint64_t threads = 0;
};
[[nodiscard]] std::optional<ProcessBrief> parse_process_brief(std::string_view stat);

struct ProcessCensus {
  std::array<std::uint32_t, 128> by_state{};  // by the state's letter
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  bool has_init = false;  // process 1 was seen: else /proc hides processes of others
};

// Reads /proc anew at each call. Costs some 10 us for each process; the steady state allocates
// nothing. Processes that end meanwhile are not counted.
class CensusTaker {
 public:
  explicit CensusTaker(std::string proc) : directory_(std::move(proc)) {}
  [[nodiscard]] Result<ProcessCensus> take();

 private:
  KeptDirectory directory_;
};

}  // namespace dynolog
