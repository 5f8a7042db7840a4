// One tick: which collectors are due, running them, and giving the frame to the sinks. No thread
// and no timer of its own: the pipeline has those.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "metrics/collector.h"
#include "metrics/frame_writer.h"
#include "metrics/framework_series.h"
#include "metrics/options.h"
#include "metrics/sink.h"
#include "metrics/stage.h"

namespace dynolog {

// Is a source of this period due, which was last read at `last`? Periods are cut from wall time, so
// that hosts read at the same seconds; a clock that was set makes it due once.
[[nodiscard]] bool is_due(std::chrono::seconds period, std::optional<WallTime> last, WallTime now);

class Sampler {
 public:
  Sampler(const PipelineOptions& options, std::vector<std::unique_ptr<Collector>> collectors,
          std::vector<std::unique_ptr<Sink>> sinks, const Clock& clock, Log& log);

  void tick(std::uint64_t late_ticks, std::uint64_t events_dropped);
  void deliver(const Event& event);

  [[nodiscard]] std::vector<StageState> states() const { return board_.states(); }  // any thread

 private:
  struct CollectorStage {
    std::unique_ptr<Collector> collector;
    std::size_t stage = 0;
    Tier tier = Tier::fast;
    std::optional<WallTime> last_run;
    unsigned slow_runs = 0;                        // one after another
    std::optional<std::chrono::seconds> period{};  // the user's, instead of the tier's
    bool missing = false;  // the host has no such source: looked for at the slow tier's pace
  };
  struct SinkStage {
    std::unique_ptr<Sink> sink;
    std::size_t stage = 0;
  };
  [[nodiscard]] static bool is_due_now(const CollectorStage& entry, WallTime wall);
  void run_collector(SourceIndex source, WallTime wall);
  void note_duration(CollectorStage& entry, Nanoseconds duration);
  void run_framework_source(WallTime wall, std::uint64_t late_ticks, std::uint64_t events_dropped);
  void run_sink(SinkStage& entry, const Frame& frame);
  void report(std::size_t stage, StageBoard::Change change, const Status& status);
  void note_problem(const CollectorStage& entry);

  const PipelineOptions options_;
  std::map<std::string, std::string> known_missing_;  // but for those that have run
  const Clock& clock_;
  Log& log_;
  StageBoard board_;
  std::vector<CollectorStage> collectors_;
  std::vector<SinkStage> sinks_;
  FrameWriter writer_;
  FrameworkSeries framework_series_;
  std::optional<WallTime> framework_last_run_;
};

}  // namespace dynolog
