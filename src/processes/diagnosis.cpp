// Each check is a small function over the facts; the tables at the end say which are asked when.
#include "processes/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "processes/torch_version.h"

namespace dynolog {
namespace {

using Subject = DiagnosisSubject;
using Ground = DiagnosisGround;
using Found = std::optional<Verdict>;

constexpr std::string_view kStartAgain =
    "set it where the job is started, `eval \"$(dyno env)\"`, and start the job again; for a "
    "container: docker run -e KINETO_USE_DAEMON=1 ...";
constexpr std::string_view kBaseConfiguration =
    "echo ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1 | sudo tee /etc/libkineto.conf, then start the "
    "job again; for a container, after that: docker run -v "
    "/etc/libkineto.conf:/etc/libkineto.conf:ro ..., or KINETO_CONFIG naming such a file in its "
    "image";
constexpr std::string_view kNewTorch = "use PyTorch 2.7 or later (2.12 or later is best)";
constexpr std::string_view kCannotBeTraced =
    "PyTorch only takes requests from the daemon that it calls at; this process cannot be traced";

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::optional<TorchVersion> version_of(const Subject& subject) {
  return subject.torch ? torch_version(subject.torch->version) : std::nullopt;
}

bool between(const std::optional<TorchVersion>& version, TorchVersion first, TorchVersion last) {
  return version && *version >= first && *version <= last;
}

std::string torch_text(const Subject& subject) {
  return subject.torch && !subject.torch->version.empty() ? "torch " + subject.torch->version
                                                          : "torch of unknown version";
}

bool environment_is_known(const Subject& subject) {
  return subject.facts.environment_read && subject.signs.environment_variables > 0;
}

bool is_cpu_only(const Subject& subject) {
  return !subject.signs.maps_gpu_torch && !subject.facts.torch_library.empty();
}

// --- what keeps a process from calling in ---

Found no_torch(const Subject& subject, const Ground&) {
  if (!subject.facts.torch_library.empty()) return {};
  if (!subject.facts.mapped_files_read) {
    return Verdict{
        "registered", Level::warning,
        "the daemon may not look into it: its mapped files cannot be read, so whether it "
        "has PyTorch in it is not known",
        "only a process that has imported torch can be traced",
        "give the daemon CAP_SYS_PTRACE over it: systemd's CapabilityBoundingSet=, docker run "
        "--cap-add SYS_PTRACE (from a user namespace of its own, as rootless ones have, no "
        "right reaches what is outside); or ask a daemon that the process's own user starts"};
  }
  const bool young = subject.age && *subject.age < kImportTime;
  return Verdict{"registered", subject.named && !young ? Level::broken : Level::note,
                 subject.facts.holds_gpu
                     ? "holds a GPU, but no libtorch_cpu.so is mapped: it is no PyTorch "
                       "process, or has not imported torch yet"
                     : "no libtorch_cpu.so is mapped: it is no PyTorch process, or has "
                       "not imported torch yet",
                 "only PyTorch's own profiler, Kineto, can be told to trace",
                 "name the process that imports torch: `dyno doctor` without --pid lists them"};
}

Found ended(const Subject& subject, const Ground&) {
  if (subject.signs.state != 'Z' && subject.signs.state != 'X') return {};
  return Verdict{"state", Level::broken, "it has ended; its parent has not taken note of it yet",
                 std::string(kCannotBeTraced),
                 fmt::format("start the job again; what its parent does: ps -o pid,stat,args -p {}",
                             subject.facts.parent.value)};
}

Found stopped(const Subject& subject, const Ground&) {
  const int pid = subject.facts.key.pid.value;
  if (subject.signs.state == 'T') {
    return Verdict{"state", Level::broken, "stopped by a signal (SIGSTOP, Ctrl-Z)",
                   "a stopped process neither calls the daemon nor traces",
                   fmt::format("kill -CONT {}", pid)};
  }
  if (subject.signs.state == 't') {
    return Verdict{"state", Level::broken, "held by a debugger (gdb, strace, py-spy)",
                   "while it is held it neither calls the daemon nor traces",
                   fmt::format("let it go on: the tracer is TracerPid in /proc/{}/status", pid)};
  }
  return {};
}

Found frozen(const Subject& subject, const Ground&) {
  if (!subject.signs.frozen) return {};
  return Verdict{"state", Level::broken, "frozen by its cgroup (a paused container or job)",
                 "a frozen process neither calls the daemon nor traces",
                 "resume it: `docker unpause`, `scontrol resume`, or `systemctl thaw`"};
}

Found stuck_in_kernel(const Subject& subject, const Ground&) {
  if (subject.signs.state != 'D') return {};
  return Verdict{"state", Level::warning, "waits in the kernel (state D) at this moment",
                 "if it stays there, for storage or a GPU driver as a rule, nothing in it goes on",
                 fmt::format("look again; where it waits: cat /proc/{}/stack (as root)",
                             subject.facts.key.pid.value)};
}

Found forked(const Subject& subject, const Ground&) {
  if (!subject.forked_from) return {};
  return Verdict{
      "forked", subject.named ? Level::broken : Level::warning,
      fmt::format("forked from process {} after torch had been imported there",
                  subject.forked_from->value),
      "Kineto's thread that calls the daemon does not exist in a forked process; it cannot be "
      "traced",
      "start workers by `spawn` (torch.multiprocessing.set_start_method(\"spawn\")) or by "
      "torchrun"};
}

Found too_old(const Subject& subject, const Ground&) {
  const auto version = version_of(subject);
  if (!version || *version >= TorchVersion{2, 0}) return {};
  return Verdict{"version", Level::broken, torch_text(subject) + " is too old",
                 "before 2.0 PyTorch does not call a daemon at all",
                 "use PyTorch 2.0 or later (2.12 or later is best)"};
}

Found cpu_only_build(const Subject& subject, const Ground&) {
  if (!between(version_of(subject), {2, 0}, {2, 2}) || !is_cpu_only(subject)) return {};
  return Verdict{"version", Level::broken,
                 torch_text(subject) +
                     " is built without CUDA, and before 2.3 such a build never "
                     "calls in",
                 std::string(kCannotBeTraced), std::string(kNewTorch)};
}

Found no_cuda_context(const Subject& subject, const Ground&) {
  if (!between(version_of(subject), {2, 0}, {2, 6}) || is_cpu_only(subject)) return {};
  if (subject.facts.holds_gpu) return {};
  return Verdict{"version", Level::broken,
                 torch_text(subject) +
                     " calls in with its first CUDA context, and it holds no GPU "
                     "yet",
                 std::string(kCannotBeTraced),
                 "wait until it uses the GPU, or use PyTorch 2.7 or later, which calls at import"};
}

Found cuda_build_that_stays_silent(const Subject& subject, const Ground&) {
  if (!between(version_of(subject), {2, 3}, {2, 6}) || is_cpu_only(subject)) return {};
  if (!subject.facts.holds_gpu) return {};
  return Verdict{"version", Level::broken,
                 torch_text(subject) +
                     " is known not to call in where it is built with CUDA "
                     "(github.com/pytorch/kineto/issues/1032)",
                 std::string(kCannotBeTraced), std::string(kNewTorch)};
}

Found init_delay(const Subject& subject, const Ground&) {
  if (subject.facts.kineto_init_delay.empty()) return {};
  const auto version = version_of(subject);
  if (version && (*version < TorchVersion{2, 3} || *version >= TorchVersion{2, 5})) return {};
  return Verdict{
      "environment", Level::broken,
      fmt::format("KINETO_DAEMON_INIT_DELAY_S={} is set", subject.facts.kineto_init_delay),
      "in PyTorch 2.3 and 2.4 it has Kineto set up by another thread than the one that registers, "
      "which fails; later versions ignore it",
      "start the job without KINETO_DAEMON_INIT_DELAY_S"};
}

bool has_part(std::string_view version, std::string_view part) {
  return version.find(part) != std::string_view::npos;
}

// Told by its users, build by build: what is the matter there is not known.
Found known_to_crash(const Subject& subject, const Ground&) {
  if (!subject.torch) return {};
  const std::string& version = subject.torch->version;
  if (has_part(version, ".nv25.01") || has_part(version, ".nv25.02")) {
    return Verdict{
        "version", Level::warning,
        torch_text(subject) +
            " is of NVIDIA's container 25.01 or 25.02, where jobs "
            "with KINETO_USE_DAEMON are known to crash",
        "the job may end with a core dump while it starts "
        "(github.com/facebookincubator/dynolog/issues/353)",
        "use the container of a later month, with a non-empty /etc/libkineto.conf in it"};
  }
  if (!between(version_of(subject), {2, 1}, {2, 4}) || is_cpu_only(subject)) return {};
  return Verdict{"version", Level::warning,
                 torch_text(subject) +
                     " is known to crash now and then with KINETO_USE_DAEMON "
                     "where it is built with CUDA",
                 "the job may end while it starts (\"Cannot initialize CUDA without ATen_cuda\", "
                 "github.com/pytorch/pytorch/issues/131020)",
                 std::string(kNewTorch)};
}

Found environment_unknown(const Subject& subject, const Ground&) {
  if (environment_is_known(subject)) return {};
  return Verdict{"environment", Level::warning,
                 "its environment cannot be read, so whether KINETO_USE_DAEMON is set is not known",
                 "without KINETO_USE_DAEMON no process calls in; one that sets its own title may "
                 "have written over its environment",
                 "look where the job is started, or ask the process: python -c 'import os; "
                 "print(os.environ.get(\"KINETO_USE_DAEMON\"))' in its environment"};
}

Found variable_missing(const Subject& subject, const Ground&) {
  if (subject.facts.uses_daemon || !environment_is_known(subject)) return {};
  return Verdict{"environment", Level::broken, "KINETO_USE_DAEMON was not set when it started",
                 "PyTorch looks for the daemon only when it finds this variable while it is "
                 "imported",
                 std::string(kStartAgain)};
}

// A directory that the daemon serves for everybody, not for one user.
std::string shared_directory(const Ground& ground) {
  const auto shared = std::ranges::find_if(ground.directories, [](const auto& served) {
    return served.first.find("/u/") == std::string::npos;
  });
  return shared == ground.directories.end() ? std::string() : shared->first;
}

// docs/install.md shows these two for the directory of the package.
std::string docker_line(const std::string& directory) {
  return fmt::format(
      "docker run -v {0}:{0} -v /etc/libkineto.conf:/etc/libkineto.conf:ro "
      "-e KINETO_USE_DAEMON=1 -e KINETO_IPC_SOCKET_DIR={0} ...",
      directory);
}

std::string pod_lines(const std::string& directory) {
  return fmt::format(
      "volumes: [{{name: dynolog, hostPath: {{path: {0}, type: Directory}}}}, "
      "{{name: libkineto, hostPath: {{path: /etc/libkineto.conf, type: File}}}}] "
      "and in the container "
      "volumeMounts: [{{name: dynolog, mountPath: {0}}}, "
      "{{name: libkineto, mountPath: /etc/libkineto.conf, readOnly: true}}] "
      "env: [{{name: KINETO_USE_DAEMON, value: \"1\"}}, "
      "{{name: KINETO_IPC_SOCKET_DIR, value: {0}}}]",
      directory);
}

// What has to be on the host before it can be mounted: of a path that is missing docker makes a
// directory, which is no configuration, and in which jobs may not bind.
std::string before_the_container(const Ground& ground, bool is_served,
                                 const std::string& directory) {
  std::string steps;
  if (!ground.has_base_configuration) {
    steps = "echo ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1 | sudo tee /etc/libkineto.conf; then: ";
  }
  if (!is_served) {
    steps += fmt::format(
        "sudo mkdir -p -m 1777 {0}; then start the daemon with --kineto_socket_dir={0}; then: ",
        directory);
  }
  return steps;
}

std::string way_into_a_container(const Ground& ground) {
  const std::string served = shared_directory(ground);
  const std::string directory = served.empty() ? "/run/kineto" : served;
  return fmt::format(
      "{}{}; in a pod: {}; the path has to be the same on both sides. Or give the job the host's "
      "network: docker run --network=host ..., hostNetwork: true",
      before_the_container(ground, !served.empty(), directory), docker_line(directory),
      pod_lines(directory));
}

Found other_network(const Subject& subject, const Ground& ground) {
  if (!subject.facts.ipc_socket_dir.empty()) return {};
  const std::string& own = subject.signs.network_namespace;
  if (own.empty() || ground.network_namespace.empty() || own == ground.network_namespace) return {};
  return Verdict{
      "network", Level::broken,
      "it has a network namespace of its own, and no KINETO_IPC_SOCKET_DIR",
      "without that variable PyTorch calls at a name that exists once in each network namespace, "
      "and the daemon's is in another",
      way_into_a_container(ground)};
}

Found abstract_name(const Subject& subject, const Ground& ground) {
  if (!subject.facts.ipc_socket_dir.empty() || ground.serves_abstract) return {};
  if (!subject.facts.uses_daemon || !environment_is_known(subject)) return {};
  if (subject.signs.network_namespace != ground.network_namespace) return {};
  return Verdict{"network", Level::broken,
                 "it calls at the abstract name @dynolog, which this daemon does not hold" +
                     (ground.abstract_problem.empty() ? "" : ": " + ground.abstract_problem),
                 ground.wants_abstract ? "its calls go to whoever holds the name"
                                       : "its calls go to another daemon, or to nobody",
                 ground.wants_abstract
                     ? advice_on_held_name(ground.abstract_problem)
                     : "start the job with the directory that `dyno env` prints, or this daemon "
                       "with --enable_ipc_monitor"};
}

Found directory_too_long(const Subject& subject, const Ground&) {
  const std::size_t size = subject.facts.ipc_socket_dir.size();
  if (size <= kMaxClientSocketDirectory) return {};
  return Verdict{
      "socket_dir", Level::broken,
      fmt::format("KINETO_IPC_SOCKET_DIR={} has {} bytes", subject.facts.ipc_socket_dir, size),
      fmt::format("Kineto works with at most {}: its socket's name, which is longer "
                  "than the daemon's, does not fit, and it gives up for good",
                  kMaxClientSocketDirectory),
      "start the job with a shorter directory: `eval \"$(dyno env)\"`"};
}

Found directory_unusable(const Subject& subject, const Ground&) {
  const SeenDirectory& look = subject.socket_directory;
  const std::size_t size = subject.facts.ipc_socket_dir.size();
  if (size == 0 || size > kMaxClientSocketDirectory || !look.looked || look.usable) return {};
  return Verdict{
      "socket_dir", Level::broken,
      fmt::format("it cannot use KINETO_IPC_SOCKET_DIR={}: {}", subject.facts.ipc_socket_dir,
                  look.problem),
      "Kineto makes its own socket there, as the job's user; without it there is no call",
      "start the job with a directory that its user may write to and the daemon serves: "
      "`eval \"$(dyno env)\"`; for a container: mount it there"};
}

Found directory_not_served(const Subject& subject, const Ground& ground) {
  const std::string& directory = subject.facts.ipc_socket_dir;
  if (directory.empty() || directory.size() > kMaxClientSocketDirectory) return {};
  if (ground.directories.contains(directory)) return {};
  const std::string& id = subject.socket_directory.id;
  const auto same = std::ranges::find_if(
      ground.directories, [&](const auto& served) { return !id.empty() && served.second == id; });
  if (same != ground.directories.end()) {
    return Verdict{"socket_dir", Level::broken,
                   fmt::format("KINETO_IPC_SOCKET_DIR={} is {} of the daemon under another path",
                               directory, same->first),
                   "Kineto ends its process when an answer comes from a socket whose path is not "
                   "below the one that it was given, so the daemon answers none",
                   fmt::format("mount the directory at {} and start the job with "
                               "KINETO_IPC_SOCKET_DIR={}",
                               same->first, same->first)};
  }
  return Verdict{
      "socket_dir", Level::broken,
      fmt::format("KINETO_IPC_SOCKET_DIR={} is not served by this daemon", directory),
      "its calls go to another daemon, or to nobody",
      fmt::format("start the job with the directory that `dyno env` prints, or have the daemon "
                  "serve this one: --kineto_socket_dir={}, or in its configuration and `kill -HUP`",
                  directory)};
}

Found directory_of_another_mount(const Subject& subject, const Ground& ground) {
  const auto served = ground.directories.find(subject.facts.ipc_socket_dir);
  if (served == ground.directories.end() || served->second.empty()) return {};
  const SeenDirectory& look = subject.socket_directory;
  if (look.id.empty() || look.id == served->second) return {};
  return Verdict{
      "socket_dir", Level::broken,
      fmt::format("what the process has at {} is not the directory of the host that the "
                  "daemon serves",
                  served->first),
      "its calls go to a directory where no daemon listens",
      fmt::format("mount the host's {} at the same path in the container", served->first)};
}

Found no_call_yet(const Subject& subject, const Ground&) {
  if (subject.age && *subject.age < kImportTime) {
    return Verdict{
        "registered", Level::note,
        fmt::format("it has not called yet: it started {:.0f} s ago", seconds(*subject.age)),
        "a process calls once it has imported torch, which takes seconds",
        "look again in a few seconds"};
  }
  return Verdict{
      "registered", Level::broken,
      torch_text(subject) +
          " has not called in, and nothing that can be seen from outside says why",
      std::string(kCannotBeTraced),
      "start the job with KINETO_LOG_LEVEL=0, which has Kineto say on stderr what it tries; if it "
      "sets KINETO_USE_DAEMON by os.environ, have it do so before `import torch`"};
}

// --- of processes that have called in ---

std::string period_text(const ProcessEntry& entry) {
  return entry.poll_period ? fmt::format(", every {:.1f} s", seconds(*entry.poll_period)) : "";
}

bool stands_still(const Subject& subject) {
  return subject.signs.frozen || subject.signs.state == 'T' || subject.signs.state == 't';
}

Verdict has_called(const Subject& subject, const Ground& ground) {
  const ProcessEntry& entry = *subject.entry;
  const std::string last = fmt::format("{:.1f} s", seconds(ground.now - entry.last_poll));
  const ProcessState state = state_of(entry, ground.now);
  if (state == ProcessState::stalled && stands_still(subject)) {
    return {"registered", Level::note,
            fmt::format("it has called in; the last call was {} ago", last),
            "it stands still, and calls when it goes on",
            (subject.signs.frozen ? frozen : stopped)(subject, ground)->fix};
  }
  if (state == ProcessState::stalled) {
    return {"registered", Level::broken,
            fmt::format("it has called in, but no longer does: the last call was {} ago{}", last,
                        period_text(entry)),
            "the call comes from a thread that needs no Python lock, so the whole process stands "
            "still, is ending, or cannot reach the daemon any more",
            "look at the other findings of this process; `dyno ps` shows when it calls again"};
  }
  return {"registered", Level::ok,
          fmt::format("registered: {}, last call {} ago{}, {}",
                      subject.traced ? "being traced" : to_string(state), last, period_text(entry),
                      torch_text(subject)),
          "", ""};
}

Found busy(const Subject& subject, const Ground& ground) {
  if (subject.traced || state_of(*subject.entry, ground.now) != ProcessState::busy) return {};
  return Verdict{"busy", Level::warning,
                 "a profiler runs in it that this daemon did not start: its own torch.profiler, or "
                 "another tool's trace",
                 "Kineto takes no request meanwhile, and the job's own profiler would end ours",
                 "wait until `dyno ps` shows it idle, or take the profiler out of the job"};
}

Found polls_slowly(const Subject& subject, const Ground&) {
  constexpr Nanoseconds kSlow = std::chrono::seconds(4);
  const ProcessEntry& entry = *subject.entry;
  const auto version = version_of(subject);
  if (!entry.poll_period || *entry.poll_period < kSlow) return {};
  if (version && *version < TorchVersion{2, 3}) return {};  // cannot be changed there
  return Verdict{"poll_interval", Level::note,
                 fmt::format("it calls every {:.0f} s only", seconds(*entry.poll_period)),
                 "that is how long a trace may take to begin", std::string(kBaseConfiguration)};
}

// --- of all that are or may be traced ---

Found part_of_job(const Subject& subject, const Ground&) {
  if (subject.part.role == Role::worker) return {};
  const std::string reason =
      subject.part.reason.empty() ? std::string(to_string(subject.part.role)) : subject.part.reason;
  return Verdict{"role", Level::note, reason + ": not traced unless it is named",
                 "it does not do the job's own work",
                 subject.entry == nullptr
                     ? std::string("trace the workers of its job, which `dyno ps` lists")
                     : fmt::format("to trace it all the same: dyno gputrace --pids {}",
                                   subject.facts.key.pid.value)};
}

Found may_crash_at_import(const Subject& subject, const Ground&) {
  if (!between(version_of(subject), {2, 7}, {2, 9})) return {};
  if (subject.torch->has_base_configuration) return {};
  return Verdict{"base_configuration", Level::warning,
                 torch_text(subject) + " runs without a base configuration for Kineto",
                 "PyTorch 2.7 to 2.9 may crash while it is imported when a daemon runs and there "
                 "is no such file (github.com/pytorch/pytorch/issues/163545)",
                 std::string(kBaseConfiguration)};
}

Found variable_empty(const Subject& subject, const Ground&) {
  if (!subject.signs.use_daemon || !subject.signs.use_daemon->empty()) return {};
  return Verdict{"iterations", Level::warning, "KINETO_USE_DAEMON is set, but empty",
                 "PyTorch then counts no optimizer steps: it can be traced for a time, not for a "
                 "number of iterations",
                 "start the job with KINETO_USE_DAEMON=1"};
}

// That no step is made cannot be seen from outside; that none began, somebody has seen.
Found may_make_no_steps(const Subject& subject, const Ground&) {
  if (!subject.iterations) return {};
  if (subject.signs.use_daemon && subject.signs.use_daemon->empty()) return {};  // told already
  const auto version = version_of(subject);
  if (version && *version >= TorchVersion{2, 12}) return {};  // traces for a time then
  return Verdict{
      "iterations", Level::warning,
      torch_text(subject) +
          " traces a number of iterations only where it sees steps: "
          "of an optimizer, or of torch.profiler",
      "inference and loops that step() nothing make none, and before 2.12 such a request "
      "is ignored without a word",
      fmt::format("trace it for a time: dyno gputrace --pids {} --duration-ms 500",
                  subject.facts.key.pid.value)};
}

Found other_profiler(const Subject& subject, const Ground&) {
  const ProcessSigns& signs = subject.signs;
  if (signs.profiler_library.empty() && signs.profiler_variable.empty()) return {};
  return Verdict{"profiler", Level::warning,
                 signs.profiler_library.empty()
                     ? fmt::format("another profiler is loaded by {}", signs.profiler_variable)
                     : fmt::format("another profiler is loaded: {}", signs.profiler_library),
                 "CUPTI serves one tool in a process at a time: the trace may lack GPU kernels, or "
                 "the other tool's may",
                 "end nsys, ncu or rocprof before tracing, or start the job without them"};
}

Found trace_directory(const Subject& subject, const Ground&) {
  const SeenDirectory& look = subject.trace_directory;
  if (!look.looked) return {};
  const std::string& named = subject.facts.ondemand_trace_dir;
  const bool version_is_known = subject.torch && !subject.torch->version.empty();
  if (!named.empty() && version_is_known && !subject.torch->knows_ondemand_trace_dir) return {};
  const std::string which =
      named.empty() ? "/tmp" : fmt::format("KINETO_ONDEMAND_TRACE_DIR={}", named);
  if (!look.usable) {
    return Verdict{"output_dir", Level::broken,
                   fmt::format("it cannot write to {}: {}", which, look.problem),
                   "that is where Kineto puts its files when it may not put them elsewhere",
                   "make the directory, or start the job with KINETO_ONDEMAND_TRACE_DIR naming one "
                   "that it can write to"};
  }
  if (look.free_bytes < kLittleRoom) {
    return Verdict{"output_dir", Level::warning,
                   fmt::format("{} has {} MB of room", which, look.free_bytes >> 20U),
                   "a trace of a large job takes hundreds of MB for each second",
                   "make room, or name another directory with --log-file"};
  }
  return {};
}

Found writes_only_below(const Subject& subject, const Ground&) {
  if (!subject.detailed || !subject.torch || !subject.torch->knows_ondemand_trace_dir) return {};
  return Verdict{
      "output_dir", Level::note,
      fmt::format(
          "{} writes requested traces below {} only", torch_text(subject),
          subject.facts.ondemand_trace_dir.empty() ? "/tmp" : subject.facts.ondemand_trace_dir),
      "dyno moves the file to the place asked for, which is a copy where that is "
      "another file system",
      "to have it written in place, start the job with KINETO_ONDEMAND_TRACE_DIR=DIR"};
}

Found silent_client(const Subject& subject, const Ground&) {
  if (!subject.detailed || subject.signs.log_level || !environment_is_known(subject)) return {};
  return Verdict{"log_level", Level::note, "KINETO_LOG_LEVEL is not set",
                 "PyTorch then hides why Kineto refused a request",
                 "start the job with KINETO_LOG_LEVEL=2 to see its warnings"};
}

Found cupti_stays(const Subject& subject, const Ground&) {
  if (!subject.detailed || !subject.signs.maps_gpu_torch || !subject.facts.holds_gpu) return {};
  if (subject.signs.teardown_cupti == "1" || !environment_is_known(subject)) return {};
  return Verdict{"teardown", Level::note, "TEARDOWN_CUPTI=1 is not set",
                 "CUPTI stays attached after a trace, and steps may stay up to 20 % slower until "
                 "the job ends (github.com/pytorch/pytorch/issues/144455)",
                 "start the job with TEARDOWN_CUPTI=1, unless it uses CUDA graphs"};
}

using Check = Found (*)(const Subject&, const Ground&);

// Beside one of these nothing else matters.
constexpr std::array<Check, 2> kDecisive = {ended, no_torch};
// Of a forked process: all else is its parent's.
constexpr std::array<Check, 2> kOfForked = {forked, variable_missing};
constexpr std::array<Check, 14> kKeepsFromCalling = {stopped,
                                                     frozen,
                                                     too_old,
                                                     cpu_only_build,
                                                     no_cuda_context,
                                                     cuda_build_that_stays_silent,
                                                     variable_missing,
                                                     init_delay,
                                                     other_network,
                                                     abstract_name,
                                                     directory_too_long,
                                                     directory_unusable,
                                                     directory_not_served,
                                                     directory_of_another_mount};
constexpr std::array<Check, 5> kOfSilent = {environment_unknown, stuck_in_kernel, part_of_job,
                                            may_crash_at_import, known_to_crash};
constexpr std::array<Check, 15> kOfCaller = {stopped,
                                             frozen,
                                             stuck_in_kernel,
                                             busy,
                                             part_of_job,
                                             variable_empty,
                                             may_make_no_steps,
                                             other_profiler,
                                             trace_directory,
                                             writes_only_below,
                                             may_crash_at_import,
                                             known_to_crash,
                                             polls_slowly,
                                             silent_client,
                                             cupti_stays};

template <std::size_t N>
void ask(const std::array<Check, N>& checks, const Subject& subject, const Ground& ground,
         std::vector<Verdict>& verdicts) {
  for (const Check check : checks) {
    if (auto found = check(subject, ground)) verdicts.push_back(std::move(*found));
  }
}

std::vector<Verdict> diagnose_silent(const Subject& subject, const Ground& ground) {
  std::vector<Verdict> verdicts;
  ask(kDecisive, subject, ground, verdicts);
  if (!verdicts.empty()) {
    verdicts.resize(1);
    return verdicts;
  }
  // Nobody misses a call from these.
  if (!subject.named && subject.part.role != Role::worker) return {*part_of_job(subject, ground)};
  if (subject.forked_from) {
    ask(kOfForked, subject, ground, verdicts);
    return verdicts;
  }
  ask(kKeepsFromCalling, subject, ground, verdicts);
  // With an unknown environment nothing is certain: what speaks for itself stands.
  const bool explained = !verdicts.empty() || !environment_is_known(subject);
  if (!explained) verdicts.push_back(*no_call_yet(subject, ground));
  ask(kOfSilent, subject, ground, verdicts);
  return verdicts;
}

}  // namespace

std::vector<Verdict> diagnose(const DiagnosisSubject& subject, const DiagnosisGround& ground) {
  std::vector<Verdict> verdicts;
  if (subject.entry == nullptr) {
    verdicts = diagnose_silent(subject, ground);
  } else {
    verdicts.push_back(has_called(subject, ground));
    ask(kOfCaller, subject, ground, verdicts);
  }
  // Nor a trace of these.
  if (!subject.named && subject.part.role != Role::worker) {
    for (Verdict& verdict : verdicts) verdict.level = std::min(verdict.level, Level::note);
  }
  return verdicts;
}

std::string advice_on_held_name(std::string_view problem) {
  const bool is_named = problem.find("held by process ") != std::string_view::npos;
  return fmt::format(
      "{}; this one takes the name within 5 s. Until then start jobs with what `dyno env` prints",
      is_named ? "end the other daemon"
               : "end the other daemon, which `ss -xap | grep @dynolog` names to root");
}

std::optional<Pid> forked_from(const ScannedProcess& process,
                               const std::vector<const ScannedProcess*>& all) {
  if (process.signs.torch_address.empty() || process.signs.executable.empty()) return std::nullopt;
  std::vector<Pid> above = {process.facts.parent};
  above.insert(above.end(), process.facts.ancestors.begin(), process.facts.ancestors.end());
  for (const Pid pid : above) {
    const auto found = std::ranges::find_if(
        all, [pid](const ScannedProcess* other) { return other->facts.key.pid == pid; });
    if (found == all.end()) continue;
    const ScannedProcess& other = **found;
    if (other.facts.uid == process.facts.uid && other.facts.container == process.facts.container &&
        other.signs.torch_address == process.signs.torch_address &&
        other.signs.executable == process.signs.executable &&
        other.facts.torch_library == process.facts.torch_library) {
      return pid;
    }
  }
  return std::nullopt;
}

}  // namespace dynolog
