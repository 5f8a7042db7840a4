// The rows: what each option is called, means, allows, and which member it fills.
#include "config/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/values.h"

namespace dynolog {
namespace {

// The client appends a name of its own; a longer directory makes its bind fail for its whole life.
constexpr std::size_t kMaxSocketDirectory = 54;
// sockaddr_un holds 108 bytes, the file name in the directory included.
constexpr std::size_t kMaxRunDirectory = 80;
constexpr std::size_t kMaxSocketDirectories = 64;

template <class Target, class Value>
Status keep(Target& target, Result<Value> value) {
  if (!value) return std::unexpected(std::move(value.error()));
  target = static_cast<Target>(std::move(*value));
  return {};
}

Status keep_auth(rpc::RpcAuth& target, const Values& values) {
  if (values.back() == "loopback") {
    target = rpc::RpcAuth::loopback_only;
  } else if (values.back() == "none") {
    target = rpc::RpcAuth::none;
  } else {
    return fail(ErrorKind::invalid, "must be loopback or none");
  }
  return {};
}

constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warning", "error"};

Status keep_level(LogLevel& target, const Values& values) {
  const auto* const found = std::ranges::find(kLevels, values.back());
  if (found == kLevels.end()) {
    return fail(ErrorKind::invalid, "must be debug, info, warning or error");
  }
  target = static_cast<LogLevel>(found - kLevels.begin());
  return {};
}

Status keep_socket_dirs(std::vector<std::string>& target, const Values& values) {
  auto directories = list_value(values);
  if (!directories) return std::unexpected(directories.error());
  if (directories->size() > kMaxSocketDirectories) {
    return fail(ErrorKind::invalid,
                fmt::format("must be at most {} directories", kMaxSocketDirectories));
  }
  for (const std::string& directory : *directories) {
    if (!directory.starts_with('/') || directory.size() > kMaxSocketDirectory) {
      return fail(
          ErrorKind::invalid,
          fmt::format("must be absolute paths of at most {} bytes, each spelled as the job's "
                      "KINETO_IPC_SOCKET_DIR is",
                      kMaxSocketDirectory));
    }
  }
  target = std::move(*directories);
  return {};
}

std::string show(bool value) { return value ? "true" : "false"; }
std::string show(std::int64_t value) { return std::to_string(value); }
std::string show(const std::string& value) { return toml_text(value); }
std::string show(const std::vector<std::string>& value) { return toml_list(value); }

constexpr std::string_view kActions = "Actions";
constexpr std::string_view kPlaces = "Places";
constexpr std::string_view kTracing = "Tracing of PyTorch jobs";
constexpr std::string_view kRpc = "Requests (RPC)";
constexpr std::string_view kMetrics = "Metrics";
constexpr std::string_view kLogging = "Logging";

constexpr std::array kRows{
    OptionRow{kActions, "help", ValueKind::flag, "", "Show this text"},
    OptionRow{kActions, "version", ValueKind::flag, "", "Show the version"},
    OptionRow{kActions, "check_config", ValueKind::flag, "",
              "Check all options and files, then end: 0 when they are good, 2 when not"},
    OptionRow{kActions, "print_config", ValueKind::flag, "",
              "Print the options in effect as a TOML file, then end"},
    OptionRow{kActions, "list_metrics", ValueKind::flag, "",
              "List every metric with its unit and meaning, then end"},
    OptionRow{kActions, "json", ValueKind::flag, "", "With --list_metrics: as JSON"},
    OptionRow{kActions, "worker", ValueKind::text, "KIND",
              "Internal: serve as the daemon's child process, procs or files"},

    OptionRow{kPlaces, "config", ValueKind::text, "FILE",
              "Read options from a TOML file, with the names of the flags as keys (default for the "
              "system's daemon: /etc/dynolog/dynolog.toml, when it exists; empty: none)"},
    OptionRow{kPlaces, "flagfile", ValueKind::text, "FILE",
              "Read flags from a file, one a line, # begins a comment (default for the system's "
              "daemon: /etc/dynolog.gflags, when it exists; empty: none)"},
    OptionRow{kPlaces, "run_dir", ValueKind::text, "DIR",
              "Directory of the socket and of the journal (default: /run/dynolog for root, else "
              "$XDG_RUNTIME_DIR/dynolog or /tmp/dynolog-UID); several daemons on one machine "
              "each need their own",
              [](Options& to, const Values& from) {
                return keep(to.run_dir, text_value(from, kMaxRunDirectory));
              },
              [](const Options& from) { return show(from.run_dir); }},
    OptionRow{kPlaces, "state_dir", ValueKind::text, "DIR",
              "Directory of what outlives a reboot (default: /var/lib/dynolog for root, else "
              "$XDG_STATE_HOME/dynolog)",
              [](Options& to, const Values& from) {
                return keep(to.state_dir, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.state_dir); }},

    OptionRow{kTracing, "enable_ipc_monitor", ValueKind::flag, "",
              "Serve the abstract socket on which jobs with KINETO_USE_DAEMON=1 ask by themselves "
              "(default: yes for root; else only where no system daemon is installed)",
              [](Options& to, const Values& from) {
                return keep(to.kineto.abstract_endpoint, flag_value(from));
              },
              [](const Options& from) {
                const auto& wanted = from.kineto.abstract_endpoint;
                return wanted ? show(*wanted) : std::string();
              }},
    OptionRow{kTracing, "kineto_socket_dir", ValueKind::list, "DIR,...",
              "Serve a socket in this directory too, for containers that share it and set "
              "KINETO_IPC_SOCKET_DIR to it; may be given many times",
              [](Options& to, const Values& from) {
                return keep_socket_dirs(to.kineto.socket_dirs, from);
              },
              [](const Options& from) { return show(from.kineto.socket_dirs); }},
    OptionRow{kTracing, "kineto_user_directories", ValueKind::flag, "",
              "Make a socket directory of the user's own when `dyno env` asks for one",
              [](Options& to, const Values& from) {
                return keep(to.kineto.user_directories, flag_value(from));
              },
              [](const Options& from) { return show(from.kineto.user_directories); }},
    OptionRow{
        kTracing, "kineto_realtime", ValueKind::flag, "",
        "Answer jobs at real-time priority where permitted: on a busy host a job does not wait "
        "for a late answer",
        [](Options& to, const Values& from) { return keep(to.kineto.realtime, flag_value(from)); },
        [](const Options& from) { return show(from.kineto.realtime); }},
    OptionRow{kTracing, "trace_staged_timeout_s", ValueKind::integer, "N",
              "Seconds after which a configuration that its process did not fetch expires",
              [](Options& to, const Values& from) {
                return keep(to.sessions.staged_timeout_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.sessions.staged_timeout_s); }},
    OptionRow{kTracing, "trace_write_timeout_s", ValueKind::integer, "N",
              "Seconds that a process may take to write its trace after the window has ended",
              [](Options& to, const Values& from) {
                return keep(to.sessions.write_timeout_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.sessions.write_timeout_s); }},

    OptionRow{kRpc, "port", ValueKind::integer, "N",
              "TCP port for existing clients; 0 takes any free one, -1 none",
              [](Options& to, const Values& from) {
                return keep(to.rpc.port, integer_value(from, -1, 65'535));
              },
              [](const Options& from) { return show(std::int64_t{from.rpc.port}); }},
    OptionRow{kRpc, "no_tcp", ValueKind::flag, "", "The same as --port=-1: unix socket only"},
    OptionRow{
        kRpc, "rpc_bind", ValueKind::text, "ADDRESS",
        "Address to listen on (default: loopback); one beyond loopback needs "
        "--rpc_auth=none",
        [](Options& to, const Values& from) { return keep(to.rpc.bind, address_value(from)); },
        [](const Options& from) { return show(from.rpc.bind); }},
    OptionRow{kRpc, "rpc_auth", ValueKind::text, "HOW",
              "loopback: callers on this host are known by their socket; none: whoever can connect "
              "may call",
              [](Options& to, const Values& from) { return keep_auth(to.rpc.auth, from); },
              [](const Options& from) {
                return show(std::string(from.rpc.auth == rpc::RpcAuth::none ? "none" : "loopback"));
              }},
    OptionRow{
        kRpc, "rpc_loopback_identity", ValueKind::flag, "",
        "Know a caller on loopback TCP by the owner of its socket; off: such callers may only "
        "ask for status and version",
        [](Options& to, const Values& from) {
          return keep(to.rpc.loopback_identity, flag_value(from));
        },
        [](const Options& from) { return show(from.rpc.loopback_identity); }},
    OptionRow{kRpc, "rpc_loopback_root", ValueKind::flag, "",
              "Let root be root over loopback TCP too; off: only on the unix socket",
              [](Options& to, const Values& from) {
                return keep(to.rpc.loopback_root, flag_value(from));
              },
              [](const Options& from) { return show(from.rpc.loopback_root); }},
    OptionRow{kRpc, "rpc_max_connections", ValueKind::integer, "N",
              "Connections at one time; more are closed",
              [](Options& to, const Values& from) {
                return keep(to.rpc.max_connections, integer_value(from, 1, 65'536));
              },
              [](const Options& from) { return show(from.rpc.max_connections); }},
    OptionRow{kRpc, "rpc_idle_timeout_s", ValueKind::integer, "N",
              "Seconds after which a connection without a request is closed",
              [](Options& to, const Values& from) {
                return keep(to.rpc.idle_timeout_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.rpc.idle_timeout_s); }},

    OptionRow{kMetrics, "kernel_monitor_reporting_interval_s", ValueKind::integer, "N",
              "Seconds between two readings of the host",
              [](Options& to, const Values& from) {
                return keep(to.metrics.interval_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.metrics.interval_s); }},
    OptionRow{kMetrics, "disabled_collectors", ValueKind::list, "NAME,...",
              "Collectors that do not run; `dynolog --list_metrics` names them",
              [](Options& to, const Values& from) {
                return keep(to.metrics.disabled_collectors, list_value(from));
              },
              [](const Options& from) { return show(from.metrics.disabled_collectors); }},
    OptionRow{
        kMetrics, "use_JSON", ValueKind::flag, "", "Write metrics as lines of JSON",
        [](Options& to, const Values& from) { return keep(to.metrics.json, flag_value(from)); },
        [](const Options& from) { return show(from.metrics.json); }},
    OptionRow{kMetrics, "json_file", ValueKind::text, "FILE",
              "File that the JSON lines are appended to (default: standard output)",
              [](Options& to, const Values& from) {
                return keep(to.metrics.json_file, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.json_file); }},

    OptionRow{kLogging, "log_level", ValueKind::text, "LEVEL",
              "Least level that is logged: debug, info, warning or error",
              [](Options& to, const Values& from) { return keep_level(to.log_level, from); },
              [](const Options& from) {
                return show(std::string(kLevels.at(static_cast<std::size_t>(from.log_level))));
              }},
};

constexpr std::string_view kPrometheus = "Prometheus exporter";
constexpr std::string_view kOtlp = "OTLP exporter";
constexpr std::string_view kRelay = "relay";
constexpr std::string_view kGpu = "GPU monitoring";
constexpr std::string_view kPerf = "CPU counters";
constexpr std::string_view kNics = "network metrics";
constexpr std::string_view kGlog = "glog: it logs to stderr, see --log_level";

constexpr std::array kFieldFlags{
    FieldFlag{"use_prometheus", ValueKind::flag, kPrometheus},
    FieldFlag{"prometheus_address", ValueKind::text, kPrometheus},
    FieldFlag{"prometheus_port", ValueKind::text, kPrometheus},
    FieldFlag{"use_otlp", ValueKind::flag, kOtlp},
    FieldFlag{"otlp_endpoint", ValueKind::text, kOtlp},
    FieldFlag{"otlp_service_name", ValueKind::text, kOtlp},
    FieldFlag{"otlp_headers", ValueKind::text, kOtlp},
    FieldFlag{"otlp_timeout_ms", ValueKind::text, kOtlp},
    FieldFlag{"otlp_max_queue_size", ValueKind::text, kOtlp},
    FieldFlag{"otlp_ssl_ca_cert_path", ValueKind::text, kOtlp},
    FieldFlag{"otlp_ssl_client_cert_path", ValueKind::text, kOtlp},
    FieldFlag{"otlp_ssl_client_key_path", ValueKind::text, kOtlp},
    FieldFlag{"use_fbrelay", ValueKind::flag, kRelay},
    FieldFlag{"fbrelay_address", ValueKind::text, kRelay},
    FieldFlag{"fbrelay_port", ValueKind::text, kRelay},
    FieldFlag{"use_ODS", ValueKind::flag, "ODS, a store inside Meta", true},
    FieldFlag{"use_scuba", ValueKind::flag, "Scuba, a store inside Meta", true},
    FieldFlag{"enable_gpu_monitor", ValueKind::flag, kGpu},
    FieldFlag{"dcgm_reporting_interval_s", ValueKind::text, kGpu},
    FieldFlag{"dcgm_lib_path", ValueKind::text, kGpu},
    FieldFlag{"dcgm_fields", ValueKind::text, kGpu},
    FieldFlag{"enable_perf_monitor", ValueKind::flag, kPerf},
    FieldFlag{"perf_monitor_reporting_interval_s", ValueKind::text, kPerf},
    FieldFlag{"filter_nic_interfaces", ValueKind::flag, kNics},
    FieldFlag{"allow_interface_prefixes", ValueKind::text, kNics},
    FieldFlag{"logtostderr", ValueKind::flag, kGlog},
    FieldFlag{"alsologtostderr", ValueKind::flag, kGlog},
    FieldFlag{"colorlogtostderr", ValueKind::flag, kGlog},
    FieldFlag{"stderrthreshold", ValueKind::text, kGlog},
    FieldFlag{"minloglevel", ValueKind::text, kGlog},
    FieldFlag{"log_dir", ValueKind::text, kGlog},
    FieldFlag{"v", ValueKind::text, kGlog},
};

consteval bool names_are_unique() {
  std::array<std::string_view, kRows.size() + kFieldFlags.size()> names;
  std::size_t count = 0;
  for (const OptionRow& row : kRows) names[count++] = row.name;
  for (const FieldFlag& flag : kFieldFlags) names[count++] = flag.name;
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}
static_assert(names_are_unique());

char folded(char letter) {
  if (letter == '-') return '_';
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same_name(std::string_view name, std::string_view spelling) {
  return std::ranges::equal(name, spelling, {}, folded, folded);
}

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }
std::span<const FieldFlag> field_flags() { return kFieldFlags; }

std::optional<KnownOption> find_option(std::string_view spelling) {
  for (const OptionRow& row : kRows) {
    if (same_name(row.name, spelling)) return KnownOption{row.name, row.kind, &row, nullptr};
  }
  for (const FieldFlag& flag : kFieldFlags) {
    if (same_name(flag.name, spelling)) return KnownOption{flag.name, flag.kind, nullptr, &flag};
  }
  return std::nullopt;
}

std::string unknown_option(std::string_view spelling, std::string_view prefix) {
  std::vector<std::string> names;
  for (const OptionRow& row : kRows) names.emplace_back(row.name);
  for (const FieldFlag& flag : kFieldFlags) names.emplace_back(flag.name);
  std::string folded_spelling(spelling.substr(0, 64));
  std::ranges::transform(folded_spelling, folded_spelling.begin(), folded);
  const std::string near = nearest(folded_spelling, names);
  const std::string shown = clean_text(spelling, 64);
  return near.empty()
             ? fmt::format("unknown option {}{}; --help lists them all", prefix, shown)
             : fmt::format("unknown option {0}{1}; did you mean {0}{2}?", prefix, shown, near);
}

}  // namespace dynolog
