// dyno gputrace: the options; what happens is in trace_run.cpp.
#include <ostream>

#include <CLI/App.hpp>

#include "cli/commands/commands.h"
#include "cli/trace_options.h"
#include "cli/trace_run.h"
#include "cli/value_check.h"

namespace dynolog::commands {
namespace {

// The daemon has the same limits.
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kYear2100Ms = 4'102'444'800'000;
constexpr std::int64_t kMost32 = 2'147'483'647;

constexpr const char* kDescription =
    "Puts running PyTorch processes into profiling mode, shows how each gets on, waits for the\n"
    "trace files, has them checked and brought to their place, says where the time went, and says\n"
    "in its exit code what came of it. Without a selection all of your processes are traced\n"
    "(launchers and data loaders of a job are left out); root, who sees those of everybody, must\n"
    "choose or say --all where there are several users or jobs.";
constexpr const char* kExamples = R"(
Where the files go:
  (nothing)           ./dynolog-<UTC time>/trace_<pid>.json on this side, whoever's processes these
                      are and whichever host they run on
  --output DIR        brought to DIR on this side; named as --log-file's last part says, when given
  --log-file PATTERN  a path on the traced host, as the process sees it. Relative: from here
In a PATTERN {rank} {local_rank} {host} {pid} {job} {time} are filled in, and {{ }} are braces. One
that does not tell processes apart by {pid}, {rank} or {local_rank} gets _<pid> before ".json".

Examples:
  dyno gputrace                                        all of your processes, 500 ms
  dyno gputrace --log-file /tmp/x/trace.json --duration-ms 1000
  dyno --hostname node7 gputrace --output traces --gzip
  dyno gputrace --job-id 4711 --rank 0,4-7 --with-stacks --record-shapes
  dyno gputrace --log-file '/scratch/{job}/rank{rank}.json' --mkdir
  dyno gputrace --iterations 3 --profile-start-iteration-roundup 100
  dyno gputrace --no-wait --json | jq -r .session      ask, and come back later with --follow
  dyno gputrace --activity-types cpu_op,kernel --deadline 120
  dyno gputrace --set CUPTI_PER_THREAD_BUFFER_ENABLED=true   further keys: docs/dyno.md

With --iterations a --duration-ms is only for a process that makes no steps.

--profile-memory is no addition to a trace. PyTorch 2.8 and later make a memory snapshot INSTEAD
of one: a file PREFIX_<pid>.pickle for pytorch.org/memory_viz, of GPU memory only, so that a process
without a GPU gives none. The other options on what is recorded are then void. The process keeps a
thread that spins on one core for the rest of the job: restart the job to be rid of it.

Exit codes:
  0  every trace lies in its place, and was checked: whole, and of this session
  2  the command line or the configuration is wrong, or it is unclear which processes are meant
  3  no process matched, of those that you may trace
  4  some or all failed, or were not found (also after Ctrl-C); --cancel: not all was withdrawn
  5  --deadline passed first
  6  no daemon
  7  refused: the daemon does not know who you are, or does not serve you
  8  in its place, but nobody could check the file (0 with --no-check)

Environment: XDG_RUNTIME_DIR says where your own daemon is. Global options: dyno --help)";

class GputraceCommand final : public Command {
 public:
  explicit GputraceCommand(CLI::App& app) {
    add_selection(app);
    add_window(app);
    add_content(app);
    add_gpu_content(app);
    add_places(app);
    add_session(app);
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    if (!options_.follow.empty() && !options_.cancel.empty()) {
      world.err << "dyno: --follow and --cancel exclude each other\n";
      return ExitCode::usage;
    }
    options_.duration_given = duration_->count() > 0;
    options_.check = !no_check_;
    return run_trace(world, global, options_);
  }

 private:
  void add_selection(CLI::App& app) {
    const char* group = "Which processes";
    app.add_option("--job-id", options_.job_id, "Of this job: JOB of dyno ps; 0: any")
        ->check(not_empty())
        ->group(group);
    app.add_option("--pids", options_.pids, "These pids: 12,34; 0: all")
        ->check(not_empty())
        ->group(group);
    app.add_option("--rank", options_.ranks, "These ranks: 0,2,4-7; or 3/8, of a job of 8")
        ->check(not_empty())
        ->group(group);
    app.add_option("--user", options_.user, "Of this user (name or number)")
        ->check(not_empty())
        ->group(group);
    app.add_option("--cmd", options_.command, "With this text in their command line")
        ->check(not_empty())
        ->group(group);
    app.add_option("--gpu", options_.gpus, "That hold one of these GPUs of their host: 0,2-3")
        ->check(not_empty())
        ->group(group);
    app.add_option("--container", options_.container,
                   "In this container: name, id, or 6 characters of it")
        ->check(not_empty())
        ->group(group);
    app.add_flag("--all", options_.all, "Of several users or jobs at once (root)")->group(group);
    app.add_option("--process-limit", options_.process_limit, "At most so many; 0: no limit")
        ->check(whole_number(0, kMost32))
        ->group(group);
    app.add_flag("--fail-on-no-process", fail_on_no_process_,
                 "Accepted; exit code 3 is always given")
        ->group(group);
  }

  void add_window(CLI::App& app) {
    const char* group = "When and how long";
    duration_ = app.add_option("--duration-ms", options_.duration_ms, "Length of the window")
                    ->check(whole_number(1, kDayMs))
                    ->capture_default_str()
                    ->group(group);
    app.add_option("--iterations", options_.iterations,
                   "So many training steps instead; 0, -1: by duration")
        ->check(whole_number(-1, kMost32))
        ->capture_default_str()
        ->group(group);
    app.add_option("--profile-start-iteration-roundup", options_.iteration_roundup,
                   "Start at a step that is a multiple of this")
        ->check(whole_number(0, kMost32))
        ->capture_default_str()
        ->group(group);
    app.add_option("--profile-start-time", options_.start_time_ms,
                   "Start then (ms since the epoch); 0: at once")
        ->check(whole_number(0, kYear2100Ms))
        ->capture_default_str()
        ->group(group);
    app.add_option("--start-in", options_.start_in_s, "Start so many seconds from now")
        ->check(number(0, 86'400))
        ->group(group);
    app.add_option("--warmup", options_.warmup_s,
                   "Warm-up in seconds (default: 1 with a GPU, else 0)")
        ->check(whole_number(0, 3600))
        ->group(group);
  }

  void add_content(CLI::App& app) {
    const char* group = "What is recorded";
    app.add_flag("--record-shapes", options_.record_shapes, "Shapes of operators' inputs")
        ->group(group);
    app.add_flag("--profile-memory", options_.profile_memory,
                 "A GPU memory snapshot INSTEAD of a trace: see below")
        ->group(group);
    app.add_flag("--with-stacks", options_.with_stacks, "Python call stacks")->group(group);
    app.add_flag("--with-flops", options_.with_flops, "Floating-point operations")->group(group);
    app.add_flag("--with-modules", options_.with_modules, "Module hierarchy")->group(group);
    app.add_option("--activity-types", options_.activity_types,
                   "Only these kinds of events: cpu_op,kernel,...")
        ->check(not_empty())
        ->group(group);
    app.add_option("--set", options_.set, "A key of Kineto's configuration: KEY=VALUE")
        ->take_all()
        ->expected(1)
        ->check(not_empty())
        ->group(group);
  }

  void add_gpu_content(CLI::App& app) {
    const char* group = "What is recorded";
    app.add_option("--buffer-mb", options_.buffer_mb, "Room for GPU records (Kineto's own: 128)")
        ->check(whole_number(1, 1 << 20))
        ->group(group);
    app.add_option("--cupti-pm-sampling-metrics", options_.pm_sampling_metrics,
                   "Counters of the GPU to sample: a,b (newest PyTorch)")
        ->check(not_empty())
        ->group(group);
    app.add_option("--cupti-pm-sampling-device", options_.pm_sampling_device,
                   "Of this device of the process")
        ->check(whole_number(0, 1023))
        ->group(group);
  }

  void add_places(CLI::App& app) {
    const char* group = "Where the files go";
    app.add_option("--log-file", options_.log_file, "PATTERN on the traced host: see below")
        ->check(not_empty())
        ->group(group);
    app.add_option("--output", options_.output, "DIR on this side; made when missing")
        ->check(not_empty())
        ->group(group);
    app.add_flag("--mkdir", options_.make_directories,
                 "Make --log-file's directories, as the process's user")
        ->group(group);
    app.add_flag("--gzip", options_.gzip, "Compress: .json.gz")->group(group);
    app.add_flag("--no-check", no_check_, "Content with files that the daemon could not look into")
        ->group(group);
  }

  void add_session(CLI::App& app) {
    const char* group = "Waiting";
    app.add_flag("--wait,!--no-wait", options_.wait,
                 "Wait for the files (default), or leave after asking")
        ->group(group);
    app.add_option("--deadline", options_.deadline_s, "Give up after so many seconds; 0: never")
        ->check(number(0, 604'800))
        ->capture_default_str()
        ->group(group);
    app.add_option("--follow", options_.follow,
                   "Take a running session up again; Ctrl-C stops looking")
        ->check(not_empty())
        ->group(group);
    app.add_option("--cancel", options_.cancel, "Withdraw what has not been fetched of a session")
        ->check(not_empty())
        ->group(group);
  }

  GputraceOptions options_;
  CLI::Option* duration_ = nullptr;
  bool fail_on_no_process_ = false;
  bool no_check_ = false;
};

}  // namespace

std::unique_ptr<Command> make_gputrace(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<GputraceCommand>(app);
}

}  // namespace dynolog::commands
