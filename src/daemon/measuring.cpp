// Making collectors, sinks and history out of the options, and making them anew.
#include "daemon/measuring.h"

#include <time.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "daemon/asked_of_loop.h"
#include "daemon/machine_id.h"
#include "daemon/own_directory.h"

namespace dynolog {
namespace {

WallTime boot_time(const Clock& clock) {
  timespec since{};
  ::clock_gettime(CLOCK_BOOTTIME, &since);
  const auto up = std::chrono::seconds(since.tv_sec) + Nanoseconds(since.tv_nsec);
  // Whole seconds: the same after the daemon's next start.
  return std::chrono::floor<std::chrono::seconds>(clock.wall() - up);
}

Nanoseconds slowest_source(const Options& options) {
  std::chrono::seconds slowest(
      std::max<std::int64_t>(options.metrics.interval_s, least_period(Tier::slow).count()));
  for (const auto& [name, period] : options.metrics.collectors.intervals) {
    slowest = std::max(slowest, period);
  }
  return slowest;
}

// Where the history can be kept; an error is a sentence on why only memory is left.
Result<std::string> history_directory(const Options& options, const std::string& state_directory) {
  std::string directory = options.metrics.history.directory;
  if (directory.empty()) {
    if (state_directory.empty()) {
      return fail(ErrorKind::unavailable,
                  "neither XDG_STATE_HOME nor HOME is set: give --state_dir or --history_dir");
    }
    if (auto own = open_own_directory(state_directory, 0755, "--state_dir"); !own) {
      return std::unexpected(std::move(own.error()));
    }
    directory = state_directory + "/history";
  }
  if (auto own = open_own_directory(directory, 0755, "--history_dir"); !own) {
    return std::unexpected(std::move(own.error()));
  }
  return directory;
}

std::map<std::string, std::string> missing_among(const std::vector<StageState>& states) {
  std::map<std::string, std::string> missing;
  for (const StageState& state : states) {
    if (state.kind == "collector" && state.unavailable) missing[state.name] = state.last_error;
  }
  return missing;
}

rpc::CollectorState state_of(const StageState& state, WallTime now) {
  rpc::CollectorState stage;
  stage.name = state.name;
  stage.kind = state.kind;
  stage.last_duration_s = state.last_duration_s;
  stage.total_duration_s = state.total_duration_s;
  stage.successes = state.successes;
  stage.failures = state.failures;
  const bool has_problem = !state.failing && !state.problem.empty();
  stage.last_error = has_problem ? state.problem : state.last_error;
  stage.failing = state.failing || has_problem;
  stage.unavailable = state.unavailable;
  if (state.last_success) {
    const std::chrono::duration<double> age = now - *state.last_success;
    stage.age_s = std::max(age.count(), 0.0);  // the clock may have been set
  }
  stage.period_s = static_cast<std::uint64_t>(state.period.count());
  stage.absent = std::accumulate(state.absences.begin(), state.absences.end(), std::uint64_t{0});
  stage.queue_length = state.queue.length;
  stage.dropped = state.queue.dropped;
  stage.delivery_failures = state.queue.delivery_failures;
  return stage;
}

}  // namespace

Measuring::Measuring(World world)
    : world_(std::move(world)),
      mount_watch_(world_.log, [this](const std::string& state, const std::string& reason) {
        world_.status.set("mounts", state, reason);
      }) {}

void Measuring::keep_history(const Options& options, const std::string& state_directory) {
  const HistoryOptions& wanted = options.metrics.history;
  if (!wanted.enabled) {
    world_.status.set("history", "off", "by --nouse_history");
    return;
  }
  auto directory = history_directory(options, state_directory);
  history_ = history::History::start(
      {.clock = world_.clock,
       .log = world_.log,
       .catalogue = metric_catalogue(),
       .directory = directory.value_or(""),
       .memory_reason = directory ? "" : directory.error().message,
       .bytes = static_cast<std::uint64_t>(wanted.mb) << 20U,
       .memory_bytes = static_cast<std::uint64_t>(wanted.memory_mb) << 20U,
       .interval = std::chrono::seconds(options.metrics.interval_s),
       .report = [this](const std::string& state, const std::string& reason) {
         world_.loop.post([this, state, reason] { world_.status.set("history", state, reason); });
       }});
}

Status Measuring::start(const Options& options) {
  auto collectors = collectors_of(options);
  if (!collectors) return std::unexpected(std::move(collectors.error()));
  return start(options, std::move(*collectors));
}

Status Measuring::start(const Options& options, Collectors collectors) {
  SinkOptions sink_options;
  sink_options.json = options.metrics.json;
  sink_options.relay = options.metrics.relay;
  sink_options.otlp = options.metrics.otlp;
  sink_options.prometheus = options.metrics.prometheus;
  const auto before = std::exchange(sink_features_, {});
  lacks_a_sink_ = false;
  auto sinks = make_sinks(sink_options, sink_world(options));
  for (const std::string& feature : before) {
    if (!sink_features_.contains(feature)) world_.status.forget(feature);
  }
  if (!sinks) return std::unexpected(std::move(sinks.error()));
  PipelineOptions pipeline_options;
  pipeline_options.interval = std::chrono::seconds(options.metrics.interval_s);
  pipeline_options.collector_periods = options.metrics.collectors.intervals;
  pipeline_options.known_missing = missing_collectors_;
  auto pipeline = Pipeline::start(pipeline_options, std::move(collectors), std::move(*sinks),
                                  world_.clock, world_.log);
  if (!pipeline) return std::unexpected(std::move(pipeline.error()));
  pipeline_ = std::move(*pipeline);
  for (Event& event : std::exchange(early_events_, {})) pipeline_->publish(std::move(event));
  has_started_ = true;
  return {};
}

Status Measuring::replace(const Options& before, const Options& after) {
  auto collectors = collectors_of(after);  // their names are checked while all still runs
  if (!collectors) return std::unexpected(std::move(collectors.error()));
  if (pipeline_) missing_collectors_ = missing_among(pipeline_->states());
  pipeline_.reset();
  auto started = start(after, std::move(*collectors));
  if (started) {
    world_.status.forget("metrics");
    return {};
  }
  if (const auto again = start(before); !again) {
    world_.status.set("metrics", "degraded",
                      "nothing is measured since a reload that failed: " + again.error().message);
  }
  return started;
}

void Measuring::stop() {
  pipeline_.reset();
  history_.reset();
}

void Measuring::publish(Event event) {
  constexpr std::size_t kMostEarly = 256;  // of sessions that an earlier daemon left
  if (pipeline_) {
    pipeline_->publish(std::move(event));
  } else if (!has_started_ && early_events_.size() < kMostEarly) {
    early_events_.push_back(std::move(event));
  }
}

void Measuring::somebody_looks() {
  looked_at_ = world_.clock.monotonic().time_since_epoch().count();
}

// Within the last few seconds. From the pipeline's thread.
bool Measuring::is_looked_at() const {
  constexpr auto kWhile = std::chrono::seconds(5);
  const Nanoseconds at(looked_at_.load());
  return at.count() != 0 && world_.clock.monotonic().time_since_epoch() - at < kWhile;
}

void Measuring::fill(rpc::StatusReply& reply) const {
  if (!pipeline_) return;
  const WallTime now = world_.clock.wall();
  for (const StageState& state : pipeline_->states()) {
    reply.collectors.push_back(state_of(state, now));
  }
}

Result<Measuring::Collectors> Measuring::collectors_of(const Options& options) {
  return make_collectors(collector_world(options), options.metrics.disabled_collectors);
}

CollectorWorld Measuring::collector_world(const Options& options) {
  return {.root = world_.root,
          .read_counters = world_.read_counters,
          .options = options.metrics.collectors,
          .file_systems = asked_file_systems(options),
          .text_files = asked_text_files(options),
          .ranks = asked_ranks(options),
          .units = asked_units(options),
          .somebody_looks = [this] { return is_looked_at(); }};
}

SinkWorld Measuring::sink_world(const Options& options) {
  return {
      .clock = world_.clock,
      .log = world_.log,
      .catalogue = metric_catalogue(),
      .version = world_.version,
      .host = world_.host,
      .host_id = machine_id(world_.root.etc + "/machine-id"),
      .executable = world_.executable,
      .boot = boot_time(world_.clock),
      .started = world_.clock.wall(),
      .interval = std::chrono::seconds(options.metrics.interval_s),
      .slowest = slowest_source(options),
      .report =
          [this](const std::string& feature, const std::string& state, const std::string& reason) {
            world_.status.set(feature, state, reason);
            sink_features_.insert(feature);
            lacks_a_sink_ |= state == "degraded";
          },
      .history = history_.get()};
}

std::shared_ptr<AskedFileSystems> Measuring::asked_file_systems(const Options& options) {
  return std::make_shared<AskedOfLoop<std::vector<MountUsage>>>(
      world_.loop, world_.clock,
      [this, wanted = options.metrics.collectors.filesystem](
          AskedOfLoop<std::vector<MountUsage>>::Done done) {
        world_.mounts.file_systems(
            wanted.mount_points, wanted.types,
            [this, done = std::move(done)](Result<std::vector<MountUsage>> mounts) {
              mount_watch_.look_at(mounts);
              done(std::move(mounts));
            });
      });
}

std::shared_ptr<AskedTextFiles> Measuring::asked_text_files(const Options& options) {
  const std::string& directory = options.metrics.collectors.textfile.directory;
  if (directory.empty()) return nullptr;
  return std::make_shared<AskedOfLoop<std::vector<TextFile>>>(
      world_.loop, world_.clock, [this, directory](AskedOfLoop<std::vector<TextFile>>::Done done) {
        world_.mounts.text_files(directory, std::move(done));
      });
}

std::shared_ptr<AskedUnits> Measuring::asked_units(const Options& options) {
  const std::vector<std::string>& names = options.metrics.collectors.systemd.units;
  if (names.empty()) return nullptr;
  return std::make_shared<AskedOfLoop<std::vector<UnitState>>>(
      world_.loop, world_.clock, [this, names](AskedOfLoop<std::vector<UnitState>>::Done done) {
        world_.mounts.units(names, std::move(done));
      });
}

std::shared_ptr<AskedRanks> Measuring::asked_ranks(const Options& options) {
  return std::make_shared<AskedOfLoop<std::vector<RankFacts>>>(
      world_.loop, world_.clock,
      [this, with_user = options.metrics.collectors.jobs.user_label](
          const AskedOfLoop<std::vector<RankFacts>>::Done& done) {
        std::vector<RankFacts> ranks = ranks_of(world_.processes.table().all());
        if (with_user) {
          for (RankFacts& rank : ranks) rank.user = world_.processes.user_name(rank.uid);
        }
        done(std::move(ranks));
      });
}

}  // namespace dynolog
