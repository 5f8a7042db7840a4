// `dynolog`: the daemon's entry, its workers', and what its flags print.
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/version.h"
#include "collectors/all_collectors.h"
#include "config/options.h"
#include "daemon/daemon.h"
#include "net/child_process.h"
#include "workers/files_worker.h"
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

// Thousands of clients have a descriptor each.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool system_daemon_installed() {
  std::error_code ignored;
  for (const char* sign :
       {"/run/dynolog/dynolog.sock", "/etc/systemd/system/dynolog.service",
        "/lib/systemd/system/dynolog.service", "/usr/lib/systemd/system/dynolog.service"}) {
    if (std::filesystem::exists(sign, ignored)) return true;
  }
  return false;
}

int run_worker(const std::string& kind) {
  if (kind == "procs") return run_procs_worker(kWorkerChannelFd, SystemRoot{});
  if (kind == "files") return run_files_worker(kWorkerChannelFd, SystemRoot{});
  fmt::print(stderr, "dynolog: no worker '{}'\n", kind);
  return kUsageError;
}

int run_daemon(const CommandLine& command, const std::vector<std::string>& arguments) {
  // A reader of the log that has gone is no reason to end.
  ::signal(SIGPIPE, SIG_IGN);
  const bool journal = !environment_variable("JOURNAL_STREAM").empty();
  const auto log = make_stderr_log(command.options.log_level, journal);
  for (const std::string& warning : command.warnings) log->warning("{}", warning);
  const SystemClock clock;
  raise_descriptor_limit();
  DaemonWorld world{.clock = clock,
                    .log = *log,
                    .root = {},
                    .uid = Uid{::geteuid()},
                    .system_mode = ::geteuid() == 0,
                    .system_daemon_installed = system_daemon_installed(),
                    .xdg_runtime_dir = environment_variable("XDG_RUNTIME_DIR"),
                    .version = kVersion,
                    .host = host_name(),
                    .executable = "/proc/self/exe",
                    .reload = [arguments]() -> Result<Options> {
                      auto parsed = parse_command_line(arguments);
                      if (!parsed) return std::unexpected(std::move(parsed.error()));
                      return std::move(parsed->options);
                    }};
  auto daemon = Daemon::start(std::move(world), command.options);
  if (!daemon) {
    log->error("cannot start: {}", daemon.error().message);
    return kStartError;
  }
  (*daemon)->run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Two arenas: the threads' garbage is small, and each arena costs resident memory.
  ::mallopt(M_ARENA_MAX, 2);
  ::umask(022);
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
      for (const std::string& warning : command->warnings) fmt::print(stderr, "{}\n", warning);
      fmt::print("configuration is valid\n");
      return 0;
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
