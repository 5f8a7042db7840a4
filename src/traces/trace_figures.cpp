// From events to a summary: categories, times, GPUs, names, and what looks cut short.
#include "traces/trace_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ascii.h"
#include "traces/trace_time.h"

namespace dynolog {
namespace {

// Of the window, at the least: what the GPU's silence at its end may last before it is told.
constexpr std::int64_t kQuietShare = 10;
constexpr std::int64_t kQuietNs = 50'000'000;

constexpr std::string_view kProfilerStep = "ProfilerStep#";
constexpr std::string_view kOptimizerStep = "Optimizer.step#";

// Libraries, and kernels of frameworks that bring their own collectives.
constexpr std::array<std::string_view, 9> kCommunication{"nccl",
                                                         "rccl",
                                                         "msccl",
                                                         "oneccl",
                                                         "nvshmem",
                                                         "cross_device_reduce",
                                                         "shot_all_reduce",
                                                         "multimem_all",
                                                         "deep_ep"};

bool names_communication(std::string_view kernel) {
  const std::string name = lower(kernel);
  return std::ranges::any_of(kCommunication,
                             [&](std::string_view part) { return name.contains(part); });
}

void keep_least(std::optional<std::int64_t>& kept, std::int64_t value) {
  kept = kept ? std::min(*kept, value) : value;
}
void keep_most(std::optional<std::int64_t>& kept, std::int64_t value) {
  kept = kept ? std::max(*kept, value) : value;
}

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

void TraceFigures::count(CategoryCounts::Index category) {
  ++events_;
  categories_.count(category);
}

void TraceFigures::add(const TraceEvent& event) {
  const bool metadata = event.phase == 'M' && event.category == CategoryCounts::kNone;
  const CategoryCounts::Index category = metadata ? CategoryCounts::kMetadata : event.category;
  count(category);
  if (event.phase == 'X') {
    add_span(event, categories_.kind(category));
  } else if (event.phase == 'i' || event.phase == 'I') {
    add_instant(event);
  }
}

void TraceFigures::add_instant(const TraceEvent& event) {
  if (!event.start_ns) return;
  if (event.name == "Record Window End") keep_most(window_end_, *event.start_ns);
}

void TraceFigures::add_span(const TraceEvent& event, EventKind kind) {
  if (kind == EventKind::kernel) ++kernels_;
  if (kind == EventKind::annotation || kind == EventKind::cpu_operator) count_step(event.name);
  if (!event.start_ns) return;
  const std::int64_t start = *event.start_ns;
  const std::int64_t duration = std::max(event.duration_ns.value_or(0), std::int64_t{0});
  const Span span{.start = start, .end = std::min(start + duration, kMaxTraceNs)};
  if (kind == EventKind::window) {
    keep_least(window_start_, span.start);
    keep_most(span_end_, span.end);
    return;
  }
  if (!all_) all_ = span;
  all_->start = std::min(all_->start, span.start);
  all_->end = std::max(all_->end, span.end);
  if (kind == EventKind::kernel || kind == EventKind::gpu_transfer) {
    add_gpu_work(event, span, kind);
  } else if (kind == EventKind::cpu_operator) {
    keep_most(last_operator_start_, span.start);
    constexpr std::uint64_t kSpread = 0x9E37'79B9'7F4A'7C15U;
    operators_.add(event.process * kSpread + event.thread, span.start, span.end, event.name);
  }
}

void TraceFigures::add_gpu_work(const TraceEvent& event, Span span, EventKind kind) {
  auto work = GpuActivity::Kind::computation;
  if (kind == EventKind::kernel) {
    const NameTimes::Index name = kernel_times_.index_of(event.name);
    kernel_times_.add_count(name);
    kernel_times_.add_time(name, span.end - span.start);
    if (communicates(event, name)) work = GpuActivity::Kind::communication;
  }
  if (span.start >= span.end) return;
  const int device = event.device.value_or(event.process_number.value_or(0));
  gpus_.add(device, span.start, span.end, work);
}

bool TraceFigures::communicates(const TraceEvent& event, NameTimes::Index name) {
  if (event.collective) return true;
  if (name >= kernel_communicates_.size()) {
    kernel_communicates_.resize(name + 1U, Communicates::unknown);
  }
  Communicates& known = kernel_communicates_[name];
  if (known == Communicates::unknown || name == NameTimes::kBeyond) {
    known = names_communication(event.name) ? Communicates::yes : Communicates::no;
  }
  return known == Communicates::yes;
}

void TraceFigures::count_step(std::string_view name) {
  if (name.starts_with(kProfilerStep)) ++profiler_steps_;
  if (name.starts_with(kOptimizerStep)) ++optimizer_steps_;
}

// As the client tells it; else from the first event to the last.
std::optional<TraceFigures::Span> TraceFigures::client_window() const {
  const std::optional<std::int64_t> end = window_end_ ? window_end_ : span_end_;
  if (!window_start_ || !end || *window_start_ >= *end) return std::nullopt;
  return Span{.start = *window_start_, .end = *end};
}

std::string TraceFigures::truncation() const {
  if (messages_.stopped_by_gpu()) {
    return "the client stopped early, since its GPU buffers were full: ask for larger ones or for "
           "a shorter window";
  }
  const auto window = client_window();
  if (!window || gpus_.empty() || !last_operator_start_) return {};
  const std::int64_t last = gpus_.last();
  const std::int64_t quiet = window->end - last;
  if (quiet < std::max(kQuietNs, (window->end - window->start) / kQuietShare)) return {};
  if (*last_operator_start_ < last + quiet / 2) return {};
  return fmt::format(
      "the GPUs' last event ends {:.0f} ms before the window does, while operators went on: GPU "
      "events seem to be missing, as when the client's buffers are full",
      milliseconds(quiet));
}

std::string TraceFigures::approximation() const {
  std::vector<std::string> parts;
  if (gpus_.coarse()) {
    parts.push_back(fmt::format(
        "the GPUs' busy, idle and communication times are estimates, since there are over {} "
        "separate stretches of them",
        GpuActivity::kMaxStretches));
  }
  if (gpus_.left_out()) {
    parts.push_back(fmt::format("times are told for {} GPUs of more", kMaxSummaryGpus));
  }
  if (kernel_times_.overflowed() || operators_.names().overflowed()) {
    parts.push_back(
        fmt::format("the kernels and operators with the most time are those of the first {} names",
                    NameTimes::kMaxNames));
  }
  if (operators_.out_of_order()) {
    parts.push_back("operators' own times are estimates, since the file has them out of order");
  }
  if (operators_.left_out()) {
    parts.push_back(fmt::format(
        "operators' own times are estimates, since they run on over {} threads, or over {} of them "
        "at once",
        OperatorTimes::kMaxThreads, OperatorTimes::kMaxOpen));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void TraceFigures::fill(TraceSummary& summary, std::optional<std::int64_t> base) {
  operators_.finish();
  gpus_.finish();
  summary.events = events_;
  summary.categories = categories_.counts();
  summary.kernels = kernels_;
  summary.steps = profiler_steps_ > 0 ? profiler_steps_ : optimizer_steps_;
  summary.warnings = messages_.told();
  summary.truncation = truncation();
  if (all_) {
    summary.first_ns = wall_time(all_->start, base);
    summary.last_ns = wall_time(all_->end, base);
  }
  const auto window = client_window();
  if (window) {
    summary.window_start_ns = wall_time(window->start, base);
    summary.window_end_ns = wall_time(window->end, base);
  }
  const auto looked_at = window ? window : all_;
  if (!gpus_.empty() && looked_at && looked_at->start < looked_at->end) {
    summary.gpus = gpus_.within(looked_at->start, looked_at->end);
    for (GpuTime& gpu : summary.gpus) {
      gpu.longest_gap_start_ns = wall_time(gpu.longest_gap_start_ns, base).value_or(0);
    }
  }
  summary.top_kernels = kernel_times_.top(kMaxSummaryTop);
  summary.top_operators = operators_.names().top(kMaxSummaryTop);
  summary.approximation = approximation();
  summary.approximate = !summary.approximation.empty();
}

}  // namespace dynolog
