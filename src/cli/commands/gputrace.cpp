// dyno gputrace: the options; what happens is in trace_run.cpp.
#include <ostream>

#include <CLI/App.hpp>

#include "cli/commands/commands.h"
#include "cli/trace_options.h"
#include "cli/trace_run.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Puts running PyTorch processes into profiling mode, shows how each gets on, waits for the\n"
    "trace files, has them checked, and says in its exit code what came of it. Without a "
    "selection\n"
    "all of your processes are traced (launchers of a job are left out); without --log-file the\n"
    "traces lie in ./dynolog-<UTC time>/. PyTorch puts each process's pid before \".json\".";
constexpr const char* kExamples = R"(
Examples:
  dyno gputrace                                        all of your processes, 500 ms
  dyno gputrace --log-file /tmp/x/trace.json --duration-ms 1000
  dyno gputrace --job-id 4711 --rank 0,4-7 --with-stacks --record-shapes
  dyno gputrace --iterations 3 --profile-start-iteration-roundup 100
  dyno gputrace --no-wait --json | jq -r .session      ask, and come back later with --follow
  dyno gputrace --set ACTIVITY_TYPES=cpu_op,kernel --deadline 120

Exit codes:
  0  every trace was written, and checked: whole, and of this session
  2  the command line or the configuration is wrong, or it is unclear which processes are meant
  3  no process matched
  4  some or all failed (also after Ctrl-C)
  5  --deadline passed first
  6  no daemon
  7  refused: not your processes
  8  written, but nobody could check the files

Environment: XDG_RUNTIME_DIR says where your own daemon is. Global options: dyno --help)";

class GputraceCommand final : public Command {
 public:
  explicit GputraceCommand(CLI::App& app) {
    add_selection(app);
    add_window(app);
    add_content(app);
    add_session(app);
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    if (!options_.follow.empty() && !options_.cancel.empty()) {
      world.err << "dyno: --follow and --cancel exclude each other\n";
      return ExitCode::usage;
    }
    return run_trace(world, global, options_);
  }

 private:
  void add_selection(CLI::App& app) {
    const char* group = "Which processes";
    app.add_option("--job-id", options_.job_id, "Of this job (Slurm, PBS, ...); 0: any")
        ->group(group);
    app.add_option("--pids", options_.pids, "These pids: 12,34; 0: all")->group(group);
    app.add_option("--rank", options_.ranks, "These ranks: 0,2,4-7")->group(group);
    app.add_option("--user", options_.user, "Of this user (name or number)")->group(group);
    app.add_option("--cmd", options_.command, "With this text in their command line")->group(group);
    app.add_flag("--all", options_.all, "Root: of several users and jobs at once")->group(group);
    app.add_option("--process-limit", options_.process_limit, "At most so many; 0: no limit")
        ->check(CLI::NonNegativeNumber)
        ->group(group);
    app.add_flag("--fail-on-no-process", fail_on_no_process_,
                 "Accepted; exit code 3 is always given")
        ->group(group);
  }

  void add_window(CLI::App& app) {
    const char* group = "When and how long";
    app.add_option("--duration-ms", options_.duration_ms, "Length of the window")
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->group(group);
    app.add_option("--iterations", options_.iterations, "So many training steps instead (over 0)")
        ->capture_default_str()
        ->group(group);
    app.add_option("--profile-start-iteration-roundup", options_.iteration_roundup,
                   "Start at a step that is a multiple of this")
        ->capture_default_str()
        ->group(group);
    app.add_option("--profile-start-time", options_.start_time_ms,
                   "Start at this time (ms since the epoch); 0: as soon as possible")
        ->check(CLI::NonNegativeNumber)
        ->group(group);
    app.add_option("--warmup", options_.warmup_s,
                   "Warm-up in seconds (default: 1 with a GPU, else 0)")
        ->check(CLI::NonNegativeNumber)
        ->group(group);
  }

  void add_content(CLI::App& app) {
    const char* group = "What is recorded, and where";
    app.add_option("--log-file", options_.log_file, "Where the traces go: PATH.json")->group(group);
    app.add_flag("--record-shapes", options_.record_shapes, "Shapes of operators' inputs")
        ->group(group);
    app.add_flag("--profile-memory", options_.profile_memory, "Memory allocations")->group(group);
    app.add_flag("--with-stacks", options_.with_stacks, "Python call stacks")->group(group);
    app.add_flag("--with-flops", options_.with_flops, "Floating-point operations")->group(group);
    app.add_flag("--with-modules", options_.with_modules, "Module hierarchy")->group(group);
    app.add_option("--set", options_.set, "A key of Kineto's configuration: KEY=VALUE")
        ->take_all()
        ->expected(1)
        ->group(group);
  }

  void add_session(CLI::App& app) {
    const char* group = "Waiting";
    app.add_flag("--wait,!--no-wait", options_.wait,
                 "Wait for the files (default), or leave after asking")
        ->group(group);
    app.add_option("--deadline", options_.deadline_s, "Give up after so many seconds; 0: never")
        ->check(CLI::NonNegativeNumber)
        ->group(group);
    app.add_option("--follow", options_.follow, "Take a running session up again")->group(group);
    app.add_option("--cancel", options_.cancel, "Withdraw what has not been fetched of a session")
        ->group(group);
  }

  GputraceOptions options_;
  bool fail_on_no_process_ = false;
};

}  // namespace

std::unique_ptr<Command> make_gputrace(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<GputraceCommand>(app);
}

}  // namespace dynolog::commands
