// What a trace's events add up to: each event is seen once, in the order of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/category_counts.h"
#include "traces/client_messages.h"
#include "traces/gpu_activity.h"
#include "traces/name_times.h"
#include "traces/operator_times.h"
#include "traces/trace_event.h"
#include "traces/trace_summary.h"

namespace dynolog {

class TraceFigures {
 public:
  [[nodiscard]] CategoryCounts& categories() { return categories_; }
  void add(const TraceEvent& event);
  void add_odd_element() { count(CategoryCounts::kNone); }  // of "traceEvents": not an object
  [[nodiscard]] ClientMessages& messages() { return messages_; }

  // After the last one; once. `base` is the file's baseTimeNanoseconds.
  void fill(TraceSummary& summary, std::optional<std::int64_t> base);

 private:
  struct Span {
    std::int64_t start;
    std::int64_t end;
  };
  void count(CategoryCounts::Index category);
  void add_instant(const TraceEvent& event);
  void add_span(const TraceEvent& event, EventKind kind);
  void add_gpu_work(const TraceEvent& event, Span span, EventKind kind);
  bool communicates(const TraceEvent& event, NameTimes::Index name);
  void count_step(std::string_view name);

  [[nodiscard]] std::optional<Span> client_window() const;
  [[nodiscard]] std::string truncation() const;
  [[nodiscard]] std::string approximation() const;

  CategoryCounts categories_;
  std::uint64_t events_ = 0;
  std::uint64_t kernels_ = 0;
  std::uint64_t profiler_steps_ = 0;
  std::uint64_t optimizer_steps_ = 0;
  NameTimes kernel_times_;
  enum class Communicates : std::uint8_t { unknown, no, yes };
  std::vector<Communicates> kernel_communicates_;  // by name
  OperatorTimes operators_;
  GpuActivity gpus_;
  ClientMessages messages_;
  // In the file's own clock:
  std::optional<Span> all_;
  std::optional<std::int64_t> last_operator_start_;
  std::optional<std::int64_t> window_start_;
  std::optional<std::int64_t> span_end_;    // of the client's own span
  std::optional<std::int64_t> window_end_;  // "Record Window End"
};

}  // namespace dynolog
