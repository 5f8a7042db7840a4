// Traces made up in tests, as Kineto writes them, and their figures computed the slow and plain
// way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "traces/trace_summary.h"

namespace dynolog {

struct MadeEvent {
  std::string category;
  std::string name;
  int process = 0;
  int thread = 0;
  std::int64_t start = 0;  // nanoseconds
  std::int64_t duration = 0;
  std::optional<int> device;
};

struct MadeTrace {
  std::vector<MadeEvent> events;
  std::optional<std::int64_t> base;
  bool base_at_tail = false;
  std::optional<std::int64_t> window_start;
  std::optional<std::int64_t> window_end;
  std::string more_members;  // at the top level: ", \"key\": value"

  [[nodiscard]] std::string text() const;
};

// A JSON event of any members.
[[nodiscard]] std::string trace_of(std::string_view events, std::string_view more_members = "");

[[nodiscard]] UniqueFd file_of(std::string_view bytes);
[[nodiscard]] TraceSummary summary_of(std::string_view bytes);
[[nodiscard]] std::string fixture(const std::string& name);  // of tests/fixtures/traces

// Independent of the code under test: time is cut at every start and end, and each piece is looked
// at by itself.
struct PlainGpu {
  std::int64_t busy = 0;
  std::int64_t communication = 0;
  std::int64_t longest_gap = 0;
};
[[nodiscard]] PlainGpu plain_gpu(const std::vector<MadeEvent>& events, int device,
                                 std::int64_t from, std::int64_t to);
// By operator: nanoseconds in which it was the one of its thread that began last and still ran.
[[nodiscard]] std::map<std::string, std::int64_t> plain_self_times(
    const std::vector<MadeEvent>& events);

}  // namespace dynolog
