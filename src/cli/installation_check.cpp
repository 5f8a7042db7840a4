// The installation, from files; what is read is turned into findings by a pure function.
#include "cli/installation_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/portable_layout.h"
#include "base/text.h"
#include "cli/endpoint.h"
#include "net/unix_table.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxSmallFile = 64U << 10U;
constexpr std::size_t kMaxSockets = 16U << 20U;

// Beside dyno itself (in a portable installation: beside its launcher), else where the shell would
// find it.
std::string find_program(const World& world, const SystemRoot& root) {
  std::vector<std::string> directories;
  std::error_code error;
  const auto self = std::filesystem::read_symlink(root.proc + "/self/exe", error);
  if (!error) {
    const std::filesystem::path launcher = portable_launcher(self.string(), "dyno");
    directories.push_back((launcher.empty() ? self : launcher).parent_path().string());
  }
  const std::string path = world.environment("PATH").value_or("");
  for (const std::string_view directory : split(path, ':')) directories.emplace_back(directory);
  for (const std::string& directory : directories) {
    const std::string program = directory + "/dynolog";
    const bool is_file = std::filesystem::is_regular_file(program, error);
    if (is_file && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

std::string find_abandoned_socket(const World& world) {
  std::error_code ignored;
  for (const Endpoint& endpoint : endpoints({}, world)) {
    if (std::filesystem::is_socket(endpoint.unix_path, ignored)) return endpoint.unix_path;
  }
  return "";
}

rpc::Finding finding(std::string check, std::string level, std::string what, std::string why = "",
                     std::string fix = "") {
  rpc::Finding made;
  made.check = std::move(check);
  made.level = std::move(level);
  made.what = std::move(what);
  made.why = std::move(why);
  made.fix = std::move(fix);
  return made;
}

rpc::Finding no_daemon(const InstallationFacts& facts) {
  return finding("daemon", "broken",
                 fmt::format("no dynolog daemon answers: {}", fmt::join(facts.tried, "; ")),
                 "without one nothing can be said of processes, and none can be traced",
                 facts.program.empty() ? "install dynolog, then start it"
                                       : fmt::format("{}", fmt::join(facts.advice, " ")));
}

void program(const InstallationFacts& facts, std::vector<rpc::Finding>& findings) {
  if (facts.program.empty()) {
    findings.push_back(finding("installation", "broken", "the program dynolog is not here",
                               "it is neither beside dyno nor in PATH",
                               "install the package, or put its directory into PATH"));
  } else {
    findings.push_back(finding("installation", "ok", "the daemon's program is " + facts.program));
  }
  if (facts.service_installed) {
    findings.push_back(finding("service", "ok", "systemd knows dynolog.service"));
  } else {
    findings.push_back(finding("service", "note", "systemd has no dynolog.service",
                               "a daemon that somebody starts by hand is gone after a reboot",
                               "install the package for a daemon that serves everybody"));
  }
}

}  // namespace

bool holds_abstract_name(std::string_view proc_net_unix) {
  // The kernel shows each NUL of an abstract name as '@', the last one included.
  return std::ranges::any_of(split(proc_net_unix, '\n'), [](std::string_view text) {
    const auto line = parse_unix_table_line(text);
    return line && line->path == "@dynolog@";
  });
}

InstallationFacts look_at_installation(const World& world, const SystemRoot& root,
                                       const CallFailure& no_daemon) {
  InstallationFacts facts;
  facts.tried = no_daemon.tried;
  facts.advice = no_daemon.advice;
  facts.program = find_program(world, root);
  facts.service_installed = world.service_installed;
  facts.abandoned_socket = find_abandoned_socket(world);
  if (const auto sockets = read_file(root.proc + "/net/unix", kMaxSockets)) {
    facts.abstract_name_held = holds_abstract_name(*sockets);
  }
  if (auto text = read_file(root.etc + "/libkineto.conf", kMaxSmallFile)) {
    facts.base_configuration = std::move(*text);
  }
  facts.use_daemon = world.environment("KINETO_USE_DAEMON");
  return facts;
}

std::vector<rpc::Finding> diagnose_installation(const InstallationFacts& facts) {
  std::vector<rpc::Finding> findings = {no_daemon(facts)};
  program(facts, findings);
  if (!facts.abandoned_socket.empty()) {
    findings.push_back(
        finding("daemon", "note", facts.abandoned_socket + " lies there, and nobody answers",
                "a daemon ended without taking it away, or may not be reached by you",
                "the next daemon replaces it; whether one runs: ps -C dynolog"));
  }
  if (facts.abstract_name_held) {
    findings.push_back(
        finding("endpoint", "warning", "another program serves jobs at the abstract name @dynolog",
                "an existing dynolog daemon, or one whose run directory is elsewhere: jobs call it",
                "ask it over TCP: dyno --port 1778 status; or name its --run-dir"));
  }
  if (facts.base_configuration && !facts.base_configuration->empty()) {
    findings.push_back(finding("base_configuration", "ok", "/etc/libkineto.conf is there"));
  } else {
    findings.push_back(finding(
        "base_configuration", "warning",
        facts.base_configuration ? "/etc/libkineto.conf is empty"
                                 : "there is no "
                                   "/etc/libkineto.conf",
        "with it jobs call every second instead of every 5 s, and PyTorch 2.7 to 2.9 does not "
        "crash at its import beside a daemon",
        "echo ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1 | sudo tee /etc/libkineto.conf"));
  }
  if (!facts.use_daemon || facts.use_daemon->empty()) {
    findings.push_back(finding("environment", "note", "KINETO_USE_DAEMON is not set in this shell",
                               "jobs that are started from it do not call a daemon",
                               "once a daemon runs: eval \"$(dyno env)\""));
  }
  return findings;
}

}  // namespace dynolog
