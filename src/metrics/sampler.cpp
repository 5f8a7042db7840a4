// Running collectors and sinks, and measuring them.
#include "metrics/sampler.h"

#include <algorithm>
#include <string>
#include <utility>

namespace dynolog {
bool is_due(std::chrono::seconds period, std::optional<WallTime> last, WallTime now) {
  if (!last || period.count() == 0) return true;
  const auto number_of = [period](WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count() /
           period.count();
  };
  return number_of(now) != number_of(*last);
}

Sampler::Sampler(const PipelineOptions& options, std::vector<std::unique_ptr<Collector>> collectors,
                 std::vector<std::unique_ptr<Sink>> sinks, const Clock& clock, Log& log)
    : options_(options),
      known_missing_(options.known_missing),
      clock_(clock),
      log_(log),
      writer_(collectors.size() + 1, options.max_series) {
  for (auto& collector : collectors) {
    const Tier tier = collector->tier();
    CollectorStage& entry = collectors_.emplace_back();
    const auto chosen = options.collector_periods.find(std::string(collector->name()));
    if (chosen != options.collector_periods.end()) entry.period = chosen->second;
    entry.stage = board_.add(StageKind::collector, collector->name(),
                             entry.period.value_or(least_period(tier)));
    entry.collector = std::move(collector);
    entry.tier = tier;
  }
  for (auto& sink : sinks) {
    const std::size_t stage = board_.add(StageKind::sink, sink->name(), std::chrono::seconds(0));
    sinks_.push_back({std::move(sink), stage});
  }
}

void Sampler::tick(std::uint64_t late_ticks, std::uint64_t events_dropped) {
  const WallTime wall = clock_.wall();
  writer_.begin_tick(wall, clock_.monotonic());
  for (std::size_t i = 0; i < collectors_.size(); ++i) {
    if (!is_due_now(collectors_[i], wall) && !collectors_[i].collector->has_news()) continue;
    run_collector(static_cast<SourceIndex>(i), wall);
  }
  run_framework_source(wall, late_ticks, events_dropped);
  const Frame& frame = writer_.finish_tick();
  for (SinkStage& entry : sinks_) run_sink(entry, frame);
}

bool Sampler::is_due_now(const CollectorStage& entry, WallTime wall) {
  const auto period = entry.period.value_or(least_period(entry.tier));
  return is_due(entry.missing ? std::max(period, least_period(Tier::slow)) : period, entry.last_run,
                wall);
}

void Sampler::run_collector(SourceIndex source, WallTime wall) {
  CollectorStage& entry = collectors_[source];
  const MonotonicTime begin = clock_.monotonic();
  writer_.begin_source(source, begin);
  const Status status = entry.collector->collect(writer_);
  writer_.end_source(status);
  const Nanoseconds duration = clock_.monotonic() - begin;
  if (entry.last_run) note_duration(entry, duration);
  entry.last_run = wall;
  entry.missing = !status && is_not_here(status.error().kind);
  board_.set_absences(entry.stage, writer_.absences(source));
  report(entry.stage, board_.record(entry.stage, duration, status, wall), status);
  note_problem(entry);
  for (const Event& event : writer_.take_events()) deliver(event);
  if (const auto error = writer_.take_open_error(source)) {
    log_.warning("collector {}: {}", entry.collector->name(), *error);
  }
}

void Sampler::note_problem(const CollectorStage& entry) {
  const std::string_view problem = entry.collector->problem();
  if (problem == board_.own()[entry.stage].problem) return;
  board_.set_problem(entry.stage, problem);
  if (problem.empty()) {
    log_.info("collector {}: all of it is sound again", entry.collector->name());
  } else {
    log_.warning("collector {}: {}", entry.collector->name(), problem);
  }
}

void Sampler::note_duration(CollectorStage& entry, Nanoseconds duration) {
  entry.slow_runs = duration > options_.slow_run ? entry.slow_runs + 1 : 0;
  if (entry.slow_runs < options_.slow_runs || entry.tier == Tier::slow || entry.period) return;
  entry.slow_runs = 0;
  entry.tier = next_slower(entry.tier);
  board_.set_period(entry.stage, least_period(entry.tier));
  log_.warning("collector {} takes {:.1f} ms: from now on it is read every {}",
               entry.collector->name(), std::chrono::duration<double, std::milli>(duration).count(),
               to_string(entry.tier));
}

void Sampler::run_framework_source(WallTime wall, std::uint64_t late_ticks,
                                   std::uint64_t events_dropped) {
  if (!is_due(least_period(Tier::medium), framework_last_run_, wall)) return;
  framework_last_run_ = wall;
  writer_.begin_source(static_cast<SourceIndex>(collectors_.size()), clock_.monotonic());
  framework_series_.emit(board_.own(), late_ticks, events_dropped, writer_);
  writer_.end_source({});
}

void Sampler::run_sink(SinkStage& entry, const Frame& frame) {
  const MonotonicTime begin = clock_.monotonic();
  const Status status = entry.sink->consume(frame);
  const Nanoseconds duration = clock_.monotonic() - begin;
  board_.set_queue(entry.stage, entry.sink->queue());
  report(entry.stage, board_.record(entry.stage, duration, status, frame.wall()), status);
}

void Sampler::deliver(const Event& event) {
  for (SinkStage& entry : sinks_) {
    const Status status = entry.sink->consume(event);
    if (!status) board_.count_failed_event(entry.stage, status.error());
  }
}

void Sampler::report(std::size_t stage, StageBoard::Change change, const Status& status) {
  const StageState& state = board_.own()[stage];
  const auto known = known_missing_.find(state.name);
  if (state.kind == "collector" && known != known_missing_.end()) {
    const std::string reason = std::move(known->second);
    known_missing_.erase(known);
    if (status) {
      change = StageBoard::Change::recovered;
    } else if (is_not_here(status.error().kind) && status.error().message == reason) {
      return;
    }
  }
  switch (change) {
    case StageBoard::Change::none:
      return;
    case StageBoard::Change::recovered:
      log_.info("{} {} works again", state.kind, state.name);
      return;
    case StageBoard::Change::began_to_fail: {
      const bool not_here = is_not_here(status.error().kind);
      log_.write(
          not_here ? LogLevel::info : LogLevel::warning,
          fmt::format("{} {} {}: {}", state.kind, state.name,
                      not_here ? "is not available here" : "failed", status.error().message));
      return;
    }
  }
}

}  // namespace dynolog
