// One event of a trace, as far as the figures need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "traces/category_counts.h"

namespace dynolog {

struct TraceEvent {
  static constexpr std::size_t kMaxName = 4096;  // the beginning of a longer one

  char phase = '\0';  // "ph": X spans, M metadata, i instants, s and f flows; '\0' when it is odd
  CategoryCounts::Index category = CategoryCounts::kNone;
  std::string name;
  std::uint64_t process = 0;  // any numbers that tell them apart
  std::uint64_t thread = 0;
  std::optional<int> process_number;  // "pid" where it is a number: a GPU's is its device
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> duration_ns;
  std::optional<int> device;  // of "args"
  bool collective = false;    // "args" tell of one

  void clear() {
    phase = '\0';
    category = CategoryCounts::kNone;
    name.clear();
    process = 0;
    thread = 0;
    process_number.reset();
    start_ns.reset();
    duration_ns.reset();
    device.reset();
    collective = false;
  }
};

}  // namespace dynolog
