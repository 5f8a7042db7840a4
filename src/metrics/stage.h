// What the framework measures of each collector and each sink.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "metrics/frame_writer.h"
#include "metrics/sink.h"

namespace dynolog {

enum class StageKind { collector, sink };

struct StageState {
  std::string name;
  std::string kind;  // "collector" | "sink"
  double last_duration_s = 0;
  double total_duration_s = 0;  // of all runs since the start
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;
  bool failing = false;      // the last run did not succeed
  bool unavailable = false;  // since this host does not offer what it needs
  std::string last_error;    // of the last failure, however long ago; "": none yet
  std::string problem;       // collectors: what to mend, although it succeeds; "": nothing
  std::optional<WallTime> last_success;
  // Collectors: the time from run to run as it is now, after any drop; 0: each tick.
  std::chrono::seconds period{};
  AbsentCounts absences{};          // collectors
  std::uint64_t events_failed = 0;  // sinks
  SinkQueue queue;                  // sinks
};

// Not offered on this host or to this user: no failure of ours.
[[nodiscard]] bool is_not_here(ErrorKind kind);

// One writer, the pipeline's thread; read from any.
class StageBoard {
 public:
  std::size_t add(StageKind kind, std::string_view name, std::chrono::seconds period);

  enum class Change { none, began_to_fail, recovered };
  // One run's outcome; `wall` is its tick's.
  Change record(std::size_t stage, Nanoseconds duration, const Status& status, WallTime wall);
  void set_period(std::size_t stage, std::chrono::seconds period);
  void set_problem(std::size_t stage, std::string_view problem);
  void set_absences(std::size_t stage, const AbsentCounts& absences);
  void set_queue(std::size_t stage, const SinkQueue& queue);
  void count_failed_event(std::size_t stage, const Error& error);

  [[nodiscard]] std::vector<StageState> states() const;  // any thread
  // The writer's own view, without a lock.
  [[nodiscard]] const std::vector<StageState>& own() const { return states_; }

 private:
  mutable std::mutex mutex_;
  std::vector<StageState> states_;
};

}  // namespace dynolog
