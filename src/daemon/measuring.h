// What is measured and where it goes: the history, and the pipeline from collectors to sinks, which
// a reload makes anew.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/system_root.h"
#include "collectors/all_collectors.h"
#include "config/options.h"
#include "daemon/mount_watch.h"
#include "daemon/process_registry.h"
#include "daemon/status_board.h"
#include "metrics/pipeline.h"
#include "net/event_loop.h"
#include "rpc/services.h"
#include "sinks/all_sinks.h"
#include "sinks/history/history.h"
#include "workers/mounts_worker.h"

namespace dynolog {

// On the loop's thread, but for what collectors and sinks call.
class Measuring {
 public:
  // All that is referred to outlives it.
  struct World {
    EventLoop& loop;
    const Clock& clock;
    Log& log;
    SystemRoot root;
    std::string version;
    std::string host;
    std::string executable;  // what workers are re-executed from
    StatusBoard& status;
    MountsWorker& mounts;
    ProcessRegistry& processes;
    ReadCounters read_counters;  // of the daemon's other parts; on the pipeline's thread
  };
  explicit Measuring(World world);

  // Before start(): it is a sink. `state_directory`: "" when there is none.
  void keep_history(const Options& options, const std::string& state_directory);
  [[nodiscard]] Status start(const Options& options);
  // A sink that the options ask for could not be made.
  [[nodiscard]] bool lacks_a_sink() const { return lacks_a_sink_; }
  // The old pipeline goes first: its page and its files are to be had. Where the new one cannot be,
  // the old one comes back.
  [[nodiscard]] Status replace(const Options& before, const Options& after);
  // Joins the threads: nothing calls into other parts after it.
  void stop();

  [[nodiscard]] bool alive() const { return pipeline_ == nullptr || pipeline_->alive(); }
  [[nodiscard]] history::History* history() const { return history_.get(); }  // nullptr: none
  // What comes before start() waits for it.
  void publish(Event event);
  // At processes, now: they are scanned more often for some seconds.
  void somebody_looks();
  // How each collector and sink is.
  void fill(rpc::StatusReply& reply) const;

 private:
  using Collectors = std::vector<std::unique_ptr<Collector>>;

  [[nodiscard]] Result<Collectors> collectors_of(const Options& options);
  [[nodiscard]] Status start(const Options& options, Collectors collectors);
  [[nodiscard]] CollectorWorld collector_world(const Options& options);
  [[nodiscard]] SinkWorld sink_world(const Options& options);
  [[nodiscard]] std::shared_ptr<AskedFileSystems> asked_file_systems(const Options& options);
  [[nodiscard]] std::shared_ptr<AskedTextFiles> asked_text_files(const Options& options);
  [[nodiscard]] std::shared_ptr<AskedUnits> asked_units(const Options& options);
  [[nodiscard]] std::shared_ptr<AskedRanks> asked_ranks(const Options& options);
  [[nodiscard]] bool is_looked_at() const;

  World world_;
  MountWatch mount_watch_;
  std::atomic<Nanoseconds::rep> looked_at_ = 0;  // on the monotonic clock; 0: never
  std::set<std::string> sink_features_;          // of the sinks that run
  bool lacks_a_sink_ = false;
  std::map<std::string, std::string> missing_collectors_;  // and why, as was said
  std::vector<Event> early_events_;
  bool has_started_ = false;                   // once
  std::unique_ptr<history::History> history_;  // its sink is the pipeline's
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace dynolog
