// kineto-client: any number of Kineto clients, for load tests. One JSON line for each poll.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "testing/kineto_client.h"

namespace dynolog {
namespace {

struct Arguments {
  std::string directory;
  std::string name = "dynolog";
  std::string version = "2.13";
  int count = 1;
  int period_ms = 1000;
  int seconds = 5;
  bool busy = false;
};

void print_line(const nlohmann::json& line) {
  fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::fflush(stdout);
}

void report(const Result<std::optional<KinetoClientReply>>& reply) {
  nlohmann::json line = {{"pid", ::getpid()}};
  if (!reply) {
    line["error"] = reply.error().message;
  } else {
    line["answered"] = reply->has_value();
    if (*reply) line["config"] = (*reply)->config;
    if (*reply && !(*reply)->would_terminate.empty()) {
      line["would_terminate"] = (*reply)->would_terminate;
    }
  }
  print_line(line);
}

// One process's life: polls at once, then at each period.
int poll_for_a_while(const Arguments& arguments, const KinetoClientProfile& profile) {
  auto client = KinetoTestClient::open({.profile = profile,
                                        .abstract_name = arguments.name + '\0',
                                        .directory = arguments.directory,
                                        .pids = {},
                                        .job = 0});
  if (!client) {
    fmt::print(stderr, "kineto-client: {}\n", client.error().message);
    return 1;
  }
  client->set_busy(arguments.busy);
  const UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec period{};
  period.it_interval.tv_sec = arguments.period_ms / 1000;
  period.it_interval.tv_nsec = (arguments.period_ms % 1000) * 1'000'000L;
  period.it_value = period.it_interval;
  ::timerfd_settime(timer.get(), 0, &period, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.seconds);
  while (true) {
    report(client->poll());
    std::uint64_t ticks = 0;
    if (std::chrono::steady_clock::now() + Milliseconds(arguments.period_ms) > end) return 0;
    if (::read(timer.get(), &ticks, sizeof ticks) < 0) return 1;
  }
}

// A process for each client: the daemon tells them apart by pid.
int run(const Arguments& arguments) {
  const auto profile = kineto_client_profile(arguments.version);
  if (!profile) {
    fmt::print(stderr, "kineto-client: unknown version {}\n", arguments.version);
    return 1;
  }
  if (arguments.count == 1) return poll_for_a_while(arguments, *profile);
  for (int i = 0; i < arguments.count; ++i) {
    const pid_t child = ::fork();
    if (child < 0) {
      std::perror("kineto-client: fork");
      return 1;
    }
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      return poll_for_a_while(arguments, *profile);
    }
  }
  int failed = 0;
  int status = 0;
  while (::wait(&status) > 0) {
    if (status != 0) failed = 1;
  }
  return failed;
}

}  // namespace
}  // namespace dynolog

int main(int argc, char** argv) {
  dynolog::Arguments arguments;
  CLI::App app("Kineto clients for load tests", "kineto-client");
  app.add_option("--dir", arguments.directory, "KINETO_IPC_SOCKET_DIR");
  app.add_option("--name", arguments.name, "abstract name of the daemon");
  app.add_option("--count", arguments.count, "clients, each a process")
      ->check(CLI::Range(1, 100000));
  app.add_option("--period-ms", arguments.period_ms)->check(CLI::Range(1, 600000));
  app.add_option("--seconds", arguments.seconds)->check(CLI::Range(0, 86400));
  app.add_option("--version", arguments.version, "2.0, 2.3, 2.7, 2.13 or 2.14");
  app.add_flag("--busy", arguments.busy, "as while a trace is running");
  CLI11_PARSE(app, argc, argv);
  return dynolog::run(arguments);
}
