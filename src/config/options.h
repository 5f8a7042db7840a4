// The daemon's options: one tree, filled from argv and the TOML file, checked once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "collectors/options.h"
#include "rpc/options.h"
#include "sinks/options.h"

namespace dynolog {

struct RpcOptions {
  int port = 1778;   // --port; -1 in the file or --no-tcp: unix socket only
  std::string bind;  // --rpc_bind; "": loopback
  rpc::RpcAuth auth = rpc::RpcAuth::loopback_only;  // --rpc_auth=none
  bool loopback_identity = true;
  bool loopback_root = true;
  std::int64_t max_connections = 1024;
  std::int64_t max_connections_per_uid = 128;
  std::int64_t idle_timeout_s = 300;
};

struct KinetoOptions {
  // nullopt: decided by mode (a user-mode daemon takes the abstract name only when no system daemon
  // is installed). --enable_ipc_monitor / --noenable_ipc_monitor say it outright.
  std::optional<bool> abstract_endpoint;
  std::vector<std::string> socket_dirs;  // --kineto_socket_dir, any number
  bool user_directories = true;          // /run/dynolog/u/<uid> on request
  bool realtime = true;                  // SCHED_RR 1
};

struct MetricsOptions {
  std::int64_t interval_s = 1;  // --kernel_monitor_reporting_interval_s
  std::vector<std::string> disabled_collectors;
  CollectorOptions collectors;
  JsonSinkOptions json;
  RelaySinkOptions relay;
  OtlpSinkOptions otlp;
  PrometheusSinkOptions prometheus{.enabled = true};
  HistoryOptions history{.enabled = true};
};

struct SessionOptions {
  std::int64_t staged_timeout_s = 30;
  std::int64_t write_timeout_s = 600;
  std::int64_t fetch_timeout_s = 60;
  std::int64_t store_mb = 2048;  // of all tenants; 0: the daemon keeps no traces
  std::int64_t store_hours = 72;
};

struct Options {
  std::string run_dir;    // sockets, journal; "": by mode
  std::string state_dir;  // what outlives a reboot; "": by mode
  std::string cpu_list;   // CPUs that the daemon and its workers run on, "0-3,8"; "": all
  std::int64_t worker_memory_mb = 768;  // of all workers, where they have a cgroup; 0: no limit
  LogLevel log_level = LogLevel::info;
  std::string log_file;     // "": stderr
  bool core_dumps = false;  // they hold what jobs and users told the daemon
  RpcOptions rpc;
  KinetoOptions kineto;
  MetricsOptions metrics;
  SessionOptions sessions;
};

// By option, those that were given: "/etc/dynolog/dynolog.toml:3: cpu_list = 99".
using GivenOptions = std::map<std::string, std::string, std::less<>>;

struct CommandLine {
  enum class Action { run, worker, check_config, print_config, list_metrics, help, version };
  Action action = Action::run;
  Options options;
  std::string worker;                 // with Action::worker: "procs" | "files" | "mounts"
  std::string text;                   // with help: what to print
  bool json = false;                  // with list_metrics
  std::vector<std::string> warnings;  // accepted but without effect, one sentence each
  GivenOptions given{};

  // For whoever finds fault with it later than the parser; "--cpu_list" where it was not given.
  [[nodiscard]] std::string as_given(std::string_view option) const;
};

// `arguments` without argv[0]. Takes gflags spellings (--flag, --noflag, --flag=value, --flag
// value, one dash, --flagfile=FILE) and --config=FILE (TOML, same names). argv wins over flagfile
// over TOML over OTEL_* of the environment. An unknown option is an error with the nearest one
// suggested; a bad value names option, value, and what is allowed; a bad file names its line.
[[nodiscard]] Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments);

// Where a system's daemon keeps its options; tests give their own.
struct StandardFiles {
  std::string config;    // TOML, read when it exists and --config is not given
  std::string flagfile;  // read when it exists and --flagfile is not given
  std::string run_dir;   // a daemon with another --run_dir is not the system's
  bool system_mode = false;
  std::map<std::string, std::string> environment{};  // of OTEL_*, which --use_otlp follows
};
[[nodiscard]] Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                                     const StandardFiles& standard);

// The effective options as TOML that parses back to the same options.
[[nodiscard]] std::string print_config(const Options& options);

}  // namespace dynolog
