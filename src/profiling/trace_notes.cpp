// Asked for and got, compared.
#include "profiling/trace_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "profiling/config_lines.h"
#include "traces/nothing_ran.h"

namespace dynolog {
namespace {

// Kineto's own accuracy: short windows miss by some tens of milliseconds on a loaded host.
constexpr Nanoseconds kWindowNoise = Milliseconds(50);
constexpr int kWindowShare = 5;  // a fifth

bool is_near(Nanoseconds got, Nanoseconds asked) {
  return std::chrono::abs(got - asked) <= std::max(asked / kWindowShare, kWindowNoise);
}

std::string span_text(Nanoseconds span) {
  const double seconds = std::chrono::duration<double>(span).count();
  constexpr double kInSeconds = 10;
  return seconds < kInSeconds ? fmt::format("{:.0f} ms", seconds * 1e3)
                              : fmt::format("{:.1f} s", seconds);
}

std::optional<Nanoseconds> window_of(const TraceSummary& summary) {
  if (!summary.window_start_ns || !summary.window_end_ns) return std::nullopt;
  return Nanoseconds(*summary.window_end_ns - *summary.window_start_ns);
}

// Whether the request had this kind of events recorded: it is one of all that are by default.
bool asks_for(const TraceRequest& request, std::string_view type) {
  bool asked = true;
  for (const ConfigLine& line : config_lines(request.config)) {
    if (line.key != "ACTIVITY_TYPES") continue;
    asked = std::ranges::any_of(split(line.value, ','),
                                [&](std::string_view name) { return trim(name) == type; });
  }
  return asked;
}

void note_window(const TraceRequest& request, const TraceSummary& summary,
                 std::vector<std::string>& notes) {
  if (const auto window = window_of(summary)) {
    if (is_near(*window, request.window)) return;
    notes.push_back(fmt::format("the window is {} long, {} were asked for", span_text(*window),
                                span_text(request.window)));
  } else if (summary.first_ns && summary.last_ns) {
    const Nanoseconds events(*summary.last_ns - *summary.first_ns);
    if (is_near(events, request.window)) return;
    notes.push_back(fmt::format("the events span {}, a window of {} was asked for",
                                span_text(events), span_text(request.window)));
  }
}

// Newer clients trace by time where nothing counts steps, and say so nowhere.
void note_steps(const TraceRequest& request, const TraceSummary& summary,
                std::vector<std::string>& notes) {
  const auto steps = static_cast<std::int64_t>(summary.steps);
  if (steps + 1 >= request.iterations) return;  // the first or last may be cut
  const auto window = window_of(summary);
  const bool by_time = window && is_near(*window, request.window);
  if (by_time) {
    notes.push_back(fmt::format(
        "traced for {} instead of {} iterations ({} of them are in it): the process had counted no "
        "steps when it was asked; they are counted by an optimizer's or profiler's step()",
        span_text(*window), request.iterations, steps));
  } else if (steps > 0) {
    notes.push_back(
        fmt::format("{} of the {} iterations asked for are in it", steps, request.iterations));
  }
}

}  // namespace

std::vector<std::string> trace_notes(const TraceRequest& request, const FileCheck& check,
                                     bool holds_gpu) {
  std::vector<std::string> notes;
  if (!check.checked || request.memory_snapshot) return notes;
  const TraceSummary& summary = check.summary;
  const bool empty = summary.categories.empty() || nothing_ran(summary);
  if (empty) {
    notes.emplace_back(kNothingRan);
  } else if (request.iterations > 0) {
    note_steps(request, summary, notes);
  } else {
    note_window(request, summary, notes);
  }
  if (!empty && holds_gpu && summary.kernels == 0 && asks_for(request, "kernel")) {
    notes.emplace_back(
        "no GPU kernel is in it, although the process holds a GPU: it launched none in the window, "
        "or another profiler (nsys, ncu, DCGM) has the GPU's tracing (CUPTI)");
  }
  if (!summary.truncation.empty()) notes.push_back(summary.truncation);
  for (const std::string& warning : summary.warnings) {
    notes.push_back("the client warns: " + warning);
  }
  return notes;
}

}  // namespace dynolog
