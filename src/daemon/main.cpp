// `dynolog`: the daemon's entry, its workers', and what its flags print.
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor_room.h"
#include "base/number.h"
#include "base/version.h"
#include "collectors/all_collectors.h"
#include "config/options.h"
#include "daemon/daemon.h"
#include "daemon/option_check.h"
#include "daemon/own_directory.h"
#include "daemon/place_check.h"
#include "daemon/run_directory.h"
#include "daemon/worker_cgroup.h"
#include "kernel/mounts.h"
#include "net/child_process.h"
#include "net/host_resolver.h"
#include "net/service_manager.h"
#include "workers/files_worker.h"
#include "workers/mounts_worker.h"
#include "workers/procs_worker.h"

namespace {

using namespace dynolog;

constexpr int kUsageError = 2;
constexpr int kStartError = 1;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

// Thousands of clients have a descriptor each. With too few the loop itself could not be made.
Status raise_descriptor_limit() {
  constexpr rlim_t kLeast = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fail_errno(errno, "the limit on open files");
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kLeast) return {};
  return fail(ErrorKind::exhausted,
              fmt::format("only {} open files are allowed, and {} are needed at least: raise the "
                          "limit (LimitNOFILE= of the unit, or `ulimit -n`)",
                          limit.rlim_max, kLeast));
}

bool system_daemon_installed() {
  std::error_code ignored;
  for (const char* sign :
       {"/run/dynolog/dynolog.sock", "/etc/systemd/system/dynolog.service",
        "/lib/systemd/system/dynolog.service", "/usr/lib/systemd/system/dynolog.service",
        "/usr/local/lib/systemd/system/dynolog.service"}) {
    if (std::filesystem::exists(sign, ignored)) return true;
  }
  return false;
}

ServiceEnvironment service_environment() {
  return {.notify_socket = !environment_variable("NOTIFY_SOCKET").empty(),
          .listen_fds = parse_number<int>(environment_variable("LISTEN_FDS")).value_or(0)};
}

// Without core dumps no other process of the same user may look into the memory either: it holds
// what others told the daemon. A limit of 0 alone would not do: a core_pattern that is a program
// gets the dump all the same.
void allow_core_dumps(bool allowed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = allowed ? limit.rlim_max : 0;
    ::setrlimit(RLIMIT_CORE, &limit);
  }
  if (!allowed) ::prctl(PR_SET_DUMPABLE, 0);
}

// As the daemon was told: workers inherit its limit.
bool daemon_allows_core_dumps() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur > 0;
}

int run_worker(const std::string& kind) {
  allow_core_dumps(daemon_allows_core_dumps());
  const auto joined =
      join_worker_cgroup({.root = {}, .pid = Pid{::getpid()}, .is_delegated = is_delegated_cgroup});
  if (!joined) {
    fmt::print(stderr, "dynolog --worker={}: stays in the daemon's control group: {}\n", kind,
               joined.error().message);
  }
  if (kind == "procs") return run_procs_worker(kWorkerChannelFd, SystemRoot{});
  if (kind == "resolve") return run_resolve_worker(kWorkerChannelFd);
  if (kind == "mounts") {
    return run_mounts_worker(kWorkerChannelFd, SystemRoot{}, read_mount_room,
                             BoundedWork::Limits{});
  }
  if (kind == "files") return run_files_worker(kWorkerChannelFd, SystemRoot{});
  fmt::print(stderr, "dynolog: no worker '{}'\n", kind);
  return kUsageError;
}

DefaultPlaces default_places() {
  const bool is_root = ::geteuid() == 0;
  return {.run_dir = default_run_directory(is_root, Uid{::geteuid()},
                                           environment_variable("XDG_RUNTIME_DIR")),
          .state_dir =
              default_state_directory(is_root, host_name(), environment_variable("XDG_STATE_HOME"),
                                      environment_variable("HOME"))};
}

// At SIGHUP: what the next start would end with is refused while the present daemon runs.
Result<CommandLine> read_anew(const std::vector<std::string>& arguments) {
  auto command = parse_command_line(arguments);
  if (!command) return command;
  if (auto good = check_host_options(*command); !good) {
    return std::unexpected(std::move(good.error()));
  }
  return command;
}

int check_config(const CommandLine& command) {
  for (const std::string& warning : command.warnings) fmt::print(stderr, "{}\n", warning);
  if (const auto good = take_host_options(command); !good) {
    fmt::print(stderr, "dynolog: {}\n", good.error().message);
    return kUsageError;
  }
  const DefaultPlaces places = default_places();
  if (const auto good = check_run_directory(command, places); !good) {
    fmt::print(stderr, "dynolog: {}\n", good.error().message);
    return kUsageError;
  }
  for (const std::string& missing : what_is_missing(command, places)) {
    fmt::print(stderr, "{}\n", missing);
  }
  fmt::print("configuration is valid\n");
  return 0;
}

int run_daemon(const CommandLine& command, const std::vector<std::string>& arguments) {
  // A reader of the log that has gone is no reason to end.
  ::signal(SIGPIPE, SIG_IGN);
  allow_core_dumps(command.options.core_dumps);
  // Before anything is opened: see ServiceManager::take_stored().
  auto found = find_service_manager(service_environment());
  const auto service = found ? std::move(*found) : no_service_manager();
  auto stored = service->take_stored();
  const bool journal = is_journal_stream(STDERR_FILENO, environment_variable("JOURNAL_STREAM"));
  const auto log = std::make_unique<DaemonLog>(command.options.log_level, journal);
  for (const std::string& warning : command.warnings) log->warning("{}", warning);
  if (!found) log->warning("{}", found.error().message);
  const SystemClock clock;
  if (auto raised = raise_descriptor_limit(); !raised) {
    log->error("cannot start: {}", raised.error().message);
    return kStartError;
  }
  make_room_for_descriptors(kExpectedDescriptors);
  // Before the first thread: they and the workers inherit the CPUs.
  if (auto good = take_host_options(command); !good) {
    log->error("cannot start: {}", good.error().message);
    return good.error().kind == ErrorKind::invalid ? kUsageError : kStartError;
  }
  DaemonWorld world{.clock = clock,
                    .log = *log,
                    .service = *service,
                    .stored = std::move(stored),
                    .root = {},
                    .uid = Uid{::geteuid()},
                    .system_mode = ::geteuid() == 0,
                    .system_daemon_installed = system_daemon_installed(),
                    .xdg_runtime_dir = environment_variable("XDG_RUNTIME_DIR"),
                    .state_dir = default_places().state_dir,
                    .version = kVersion,
                    .host = host_name(),
                    .executable = "/proc/self/exe",
                    .reload = [arguments] { return read_anew(arguments); }};
  auto daemon = Daemon::start(std::move(world), command.options);
  const Status ran = daemon ? (*daemon)->run() : std::unexpected(std::move(daemon.error()));
  if (!ran) log->error("cannot start: {}", ran.error().message);
  return ran ? 0 : kStartError;
}

}  // namespace

int main(int argc, char** argv) {
  // Two arenas: the threads' garbage is small, and each arena costs resident memory. What is large
  // (a page for Prometheus, a block of the history) is needed for a moment, and given back at once.
  constexpr int kLarge = 64 << 10;
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, kLarge);
  ::umask(022);
  // Where a loader of the tarball's runs it (docs/install.md), `ps` would show the loader's name.
  ::prctl(PR_SET_NAME, "dynolog");
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto command = parse_command_line(arguments);
  if (!command) {
    fmt::print(stderr, "dynolog: {}\n", command.error().message);
    return kUsageError;
  }
  switch (command->action) {
    case CommandLine::Action::run:
      return run_daemon(*command, arguments);
    case CommandLine::Action::worker:
      return run_worker(command->worker);
    case CommandLine::Action::check_config:
      return check_config(*command);
    case CommandLine::Action::print_config:
      fmt::print("{}", print_config(command->options));
      return 0;
    case CommandLine::Action::list_metrics:
      fmt::print("{}", list_metrics(command->json));
      return 0;
    case CommandLine::Action::help:
      fmt::print("{}", command->text);
      return 0;
    case CommandLine::Action::version:
      fmt::print("dynolog {}\n", kVersion);
      return 0;
  }
  return kUsageError;
}
