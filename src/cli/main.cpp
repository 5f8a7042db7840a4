// dyno: the real world, and nothing else.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "cli/app.h"

namespace {

dynolog::Terminal terminal_of(int fd) {
  winsize size{};
  if (::isatty(fd) == 0 || ::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

// From here on Ctrl-C is something to read. The descriptor lives as long as the program.
int take_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd >= 0) ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return fd;
}

bool service_installed() {
  constexpr std::array kDirectories = {"/etc/systemd/system", "/run/systemd/system",
                                       "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                       "/lib/systemd/system"};
  return std::ranges::any_of(kDirectories, [](const std::filesystem::path directory) {
    std::error_code ignored;
    return std::filesystem::exists(directory / "dynolog.service", ignored);
  });
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error, not the end
  std::ios::sync_with_stdio(false);
  const dynolog::SystemClock clock;
  std::error_code ignored;
  const dynolog::World world{
      .out = std::cout,
      .err = std::cerr,
      .environment = [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
      },
      .uid = ::geteuid(),
      .working_directory = std::filesystem::current_path(ignored).string(),
      .system_run_dir = "/run/dynolog",
      .temporary_dir = "/tmp",
      .clock = clock,
      .terminal = terminal_of(STDERR_FILENO),
      .out_columns = terminal_of(STDOUT_FILENO).columns,
      .service_installed = service_installed(),
      .take_interrupts = take_interrupts,
      .reconnect_for = std::chrono::seconds(30),
  };
  const auto code = dynolog::run_dyno(world, {argv + 1, argv + argc});
  std::cout.flush();
  if (std::cout.good()) return static_cast<int>(code);
  pollfd out{STDOUT_FILENO, 0, 0};
  const bool reader_left = ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
  if (reader_left) return static_cast<int>(code);
  std::cerr << "dyno: the output could not be written\n";
  return static_cast<int>(dynolog::ExitCode::failed);
}
