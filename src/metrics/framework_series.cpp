// Emitting the framework's own metrics.
#include "metrics/framework_series.h"

namespace dynolog {
namespace {

// By id: the array's order is the documentation's.
consteval const MetricDescriptor& metric(std::string_view id) {
  for (const MetricDescriptor& descriptor : kFrameworkMetrics) {
    if (descriptor.id == id) return descriptor;
  }
  throw "no such metric";
}

// To the millisecond: what is finer tells nobody anything, and would fill the history.
double epoch_seconds(WallTime time) { return static_cast<double>(epoch_milliseconds(time)) / 1000; }

void set_count(Samples& out, SeriesHandle handle, std::uint64_t count) {
  out.set(handle, static_cast<double>(count));
}

}  // namespace

void FrameworkSeries::open(const StageState& state, Stage& stage, Samples& out) {
  const std::string_view name = state.name;
  if (state.kind == "collector") {
    stage.duration = out.open(metric("collector.duration"), {name});
    stage.success = out.open(metric("collector.success"), {name});
    stage.succeeded = out.open(metric("collector.runs"), {name, "success"});
    stage.failed = out.open(metric("collector.runs"), {name, "failure"});
    stage.last_success = out.open(metric("collector.last_success"), {name});
    return;
  }
  stage.duration = out.open(metric("sink.duration"), {name});
  stage.success = out.open(metric("sink.success"), {name});
  stage.succeeded = out.open(metric("sink.frames"), {name, "success"});
  stage.failed = out.open(metric("sink.frames"), {name, "failure"});
  stage.last_success = out.open(metric("sink.last_success"), {name});
  stage.queue_length = out.open(metric("sink.queue_length"), {name});
  stage.dropped = out.open(metric("sink.dropped"), {name});
  stage.delivery_failures = out.open(metric("sink.delivery_failures"), {name});
}

void FrameworkSeries::emit_collector(const StageState& state, Stage& stage, Samples& out) {
  for (std::size_t i = 0; i < kAbsentReasons; ++i) {
    if (state.absences[i] == 0) continue;
    if (!stage.rejected[i].valid()) {
      stage.rejected[i] = out.open(metric("collector.values_rejected"),
                                   {state.name, to_string(static_cast<AbsentReason>(i))});
    }
    set_count(out, stage.rejected[i], state.absences[i]);
  }
}

void FrameworkSeries::emit_sink(const StageState& state, const Stage& stage, Samples& out) {
  set_count(out, stage.queue_length, state.queue.length);
  set_count(out, stage.dropped, state.queue.dropped);
  set_count(out, stage.delivery_failures, state.queue.delivery_failures);
}

void FrameworkSeries::emit(const std::vector<StageState>& states, std::uint64_t late_ticks,
                           std::uint64_t events_dropped, Samples& out) {
  while (stages_.size() < states.size()) {
    const StageState& state = states[stages_.size()];
    open(state, stages_.emplace_back(), out);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    const StageState& state = states[i];
    Stage& stage = stages_[i];
    set_count(out, stage.succeeded, state.successes);
    set_count(out, stage.failed, state.failures);
    if (state.successes + state.failures == 0) {  // sinks, before their first frame
      out.absent(stage.duration, AbsentReason::not_reported);
      out.absent(stage.success, AbsentReason::not_reported);
    } else {
      out.set(stage.duration, state.last_duration_s);
      out.set(stage.success, state.failing ? 0 : 1);
    }
    if (state.last_success) {
      out.set(stage.last_success, epoch_seconds(*state.last_success));
    } else {
      out.absent(stage.last_success, AbsentReason::not_reported);
    }
    if (state.kind == "collector") {
      emit_collector(state, stage, out);
    } else {
      emit_sink(state, stage, out);
    }
  }
  if (!totals_) {
    totals_ = {out.open(metric("pipeline.late_ticks"), {}),
               out.open(metric("pipeline.events_dropped"), {})};
  }
  set_count(out, (*totals_)[0], late_ticks);
  set_count(out, (*totals_)[1], events_dropped);
}

}  // namespace dynolog
