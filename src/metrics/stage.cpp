// Keeping the stages' figures.
#include "metrics/stage.h"

namespace dynolog {

bool is_not_here(ErrorKind kind) {
  return kind == ErrorKind::unavailable || kind == ErrorKind::denied ||
         kind == ErrorKind::not_found;
}

std::size_t StageBoard::add(StageKind kind, std::string_view name, std::chrono::seconds period) {
  const std::scoped_lock lock(mutex_);
  StageState& state = states_.emplace_back();
  state.name = name;
  state.kind = kind == StageKind::collector ? "collector" : "sink";
  state.period = period;
  return states_.size() - 1;
}

StageBoard::Change StageBoard::record(std::size_t stage, Nanoseconds duration, const Status& status,
                                      WallTime wall) {
  const std::scoped_lock lock(mutex_);
  StageState& state = states_[stage];
  state.last_duration_s = std::chrono::duration<double>(duration).count();
  state.total_duration_s += state.last_duration_s;
  const bool was_failing = state.failing;
  state.failing = !status;
  state.unavailable = !status && is_not_here(status.error().kind);
  if (status) {
    ++state.successes;
    state.last_success = wall;
    return was_failing ? Change::recovered : Change::none;
  }
  ++state.failures;
  state.last_error = status.error().message;
  return was_failing ? Change::none : Change::began_to_fail;
}

void StageBoard::set_period(std::size_t stage, std::chrono::seconds period) {
  const std::scoped_lock lock(mutex_);
  states_[stage].period = period;
}

void StageBoard::set_problem(std::size_t stage, std::string_view problem) {
  const std::scoped_lock lock(mutex_);
  states_[stage].problem = problem;
}

void StageBoard::set_absences(std::size_t stage, const AbsentCounts& absences) {
  const std::scoped_lock lock(mutex_);
  states_[stage].absences = absences;
}

void StageBoard::set_queue(std::size_t stage, const SinkQueue& queue) {
  const std::scoped_lock lock(mutex_);
  states_[stage].queue = queue;
}

void StageBoard::count_failed_event(std::size_t stage, const Error& error) {
  const std::scoped_lock lock(mutex_);
  ++states_[stage].events_failed;
  states_[stage].last_error = error.message;
}

std::vector<StageState> StageBoard::states() const {
  const std::scoped_lock lock(mutex_);
  return states_;
}

}  // namespace dynolog
