// The rows: what each option is called, means, allows, and which member it fills.
#include "config/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/cpu_set.h"
#include "base/name_pattern.h"
#include "base/number.h"
#include "base/text.h"
#include "base/url.h"
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

Status keep_pattern(std::string& target, const Values& values) {
  auto text = text_value(values, kMaxTextValue);
  if (!text) return std::unexpected(std::move(text.error()));
  if (auto compiled = NamePattern::compile(*text); !compiled) {
    return std::unexpected(std::move(compiled.error()));
  }
  target = std::move(*text);
  return {};
}

Status keep_cpus(std::string& target, const Values& values) {
  auto text = text_value(values, kMaxTextValue);
  if (!text) return std::unexpected(std::move(text.error()));
  if (!text->empty()) {
    if (auto cpus = parse_cpu_set(*text); !cpus) return std::unexpected(std::move(cpus.error()));
  }
  target = std::move(*text);
  return {};
}

// NAME=SECONDS,...
Status keep_intervals(std::map<std::string, std::chrono::seconds>& target, const Values& values) {
  constexpr std::int64_t kMostSeconds = 86'400;
  auto items = list_value(values);
  if (!items) return std::unexpected(std::move(items.error()));
  target.clear();
  for (const std::string& item : *items) {
    const std::size_t equals = item.find('=');
    const auto seconds =
        equals == std::string::npos
            ? std::nullopt
            : parse_number<std::int64_t>(std::string_view(item).substr(equals + 1));
    if (!seconds || *seconds < 1 || *seconds > kMostSeconds || equals == 0) {
      return fail(ErrorKind::invalid,
                  fmt::format("must be NAME=SECONDS,... with 1 to {} seconds", kMostSeconds));
    }
    target[item.substr(0, equals)] = std::chrono::seconds(*seconds);
  }
  return {};
}

std::string show(const std::map<std::string, std::chrono::seconds>& intervals) {
  std::vector<std::string> items;
  for (const auto& [name, interval] : intervals) {
    items.push_back(fmt::format("{}={}", name, interval.count()));
  }
  return toml_list(items);
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

Status keep_slices(std::vector<std::string>& target, const Values& values) {
  constexpr std::size_t kMaxSlices = 64;
  auto slices = list_value(values);
  if (!slices) return std::unexpected(std::move(slices.error()));
  if (slices->size() > kMaxSlices) {
    return fail(ErrorKind::invalid, fmt::format("must be at most {} names", kMaxSlices));
  }
  for (const std::string& slice : *slices) {
    if (slice.empty() || slice.starts_with('/') || slice.contains("..")) {
      return fail(ErrorKind::invalid, "must be paths below the hierarchy, such as system.slice");
    }
  }
  target = std::move(*slices);
  return {};
}

Status keep_units(std::vector<std::string>& target, const Values& values) {
  constexpr std::size_t kMaxUnits = 64;
  constexpr std::size_t kMaxName = 255;  // systemd's own limit
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
  auto units = list_value(values);
  if (!units) return std::unexpected(std::move(units.error()));
  if (units->size() > kMaxUnits) {
    return fail(ErrorKind::invalid, fmt::format("must be at most {} units", kMaxUnits));
  }
  for (const std::string& unit : *units) {
    const std::size_t dot = unit.rfind('.');
    if (unit.size() > kMaxName || unit.find_first_not_of(kAllowed) != std::string::npos ||
        dot == std::string::npos || dot == 0 || dot + 1 == unit.size()) {
      return fail(ErrorKind::invalid, "must be names of units with their kind, as in ssh.service");
    }
  }
  target = std::move(*units);
  return {};
}

Status keep_job_labels(CollectorOptions::Jobs& target, const Values& values) {
  const auto names = list_value(values);
  if (!names) return std::unexpected(names.error());
  target.user_label = false;
  for (const std::string& name : *names) {
    if (name != "user") return fail(ErrorKind::invalid, "must be user, or empty");
    target.user_label = true;
  }
  return {};
}

// Of those that are named; a list without any is a page without lines, which nobody wants.
Status keep_families(PrometheusFamilies& target, const Values& values) {
  const auto names = list_value(values);
  if (!names) return std::unexpected(names.error());
  PrometheusFamilies families{.node = false, .dcgm = false, .own = false};
  for (const std::string& name : *names) {
    if (name == "node") {
      families.node = true;
    } else if (name == "dcgm") {
      families.dcgm = true;
    } else if (name == "own") {
      families.own = true;
    } else {
      return fail(ErrorKind::invalid, "must be of node, dcgm and own");
    }
  }
  if (names->empty()) return fail(ErrorKind::invalid, "must name at least one of node, dcgm, own");
  target = families;
  return {};
}

Status keep_seconds(std::chrono::seconds& target, const Values& values) {
  auto seconds = integer_value(values, 1, 86'400);
  if (!seconds) return std::unexpected(std::move(seconds.error()));
  target = std::chrono::seconds(*seconds);
  return {};
}

Status keep_milliseconds(std::chrono::milliseconds& target, const Values& values) {
  auto milliseconds = integer_value(values, 1, 86'400'000);
  if (!milliseconds) return std::unexpected(std::move(milliseconds.error()));
  target = std::chrono::milliseconds(*milliseconds);
  return {};
}

Status keep_url(std::string& target, const Values& values) {
  auto text = text_value(values, kMaxTextValue);
  if (!text) return std::unexpected(std::move(text.error()));
  if (auto url = parse_http_url(*text); !url) return std::unexpected(std::move(url.error()));
  target = std::move(*text);
  return {};
}

Status keep_relay(std::string& target, const Values& values) {
  constexpr std::size_t kMaxHost = 253;
  auto text = text_value(values, kMaxHost);
  if (!text) return std::unexpected(std::move(text.error()));
  if (text->empty() || text->contains(' ')) {
    return fail(ErrorKind::invalid, "must be a host's name or address, or a unix socket's path");
  }
  target = std::move(*text);
  return {};
}

Status keep_compression(bool& target, const Values& values) {
  if (values.back() != "gzip" && values.back() != "none") {
    return fail(ErrorKind::invalid, "must be gzip or none");
  }
  target = values.back() == "gzip";
  return {};
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// A token of HTTP, and a value that ends no line. Not what frames the request itself.
bool is_header(const std::string& name, const std::string& value) {
  static constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";
  constexpr std::array<std::string_view, 6> kOurs{"content-length", "content-type",
                                                  "connection",     "content-encoding",
                                                  "host",           "transfer-encoding"};
  if (std::ranges::find(kOurs, lower(name)) != kOurs.end()) return false;
  const auto is_token = [](char letter) {
    return is_alnum(letter) || kTokenMarks.contains(letter);
  };
  return !name.empty() && std::ranges::all_of(name, is_token) && is_clean(value);
}

bool is_attribute(const std::string& key, const std::string& value) {
  return !key.empty() && is_clean(key) && is_clean(value);
}

// KEY=VALUE,..., percent-encoded, as OpenTelemetry's environment variables are.
Status keep_pairs(Pairs& target, const Values& values,
                  bool (*is_good)(const std::string& key, const std::string& value)) {
  auto items = list_value(values);
  if (!items) return std::unexpected(std::move(items.error()));
  Pairs pairs;
  for (const std::string& item : *items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) {
      return fail(ErrorKind::invalid, "must be NAME=VALUE,...");
    }
    auto key = percent_decoded(trim(std::string_view(item).substr(0, equals)));
    auto value = percent_decoded(trim(std::string_view(item).substr(equals + 1)));
    if (!key || !value || !is_good(*key, *value)) {
      return fail(ErrorKind::invalid,
                  "must be NAME=VALUE,... without control characters; in values a comma is %2C "
                  "and a percent sign %25");
    }
    pairs.emplace_back(std::move(*key), std::move(*value));
  }
  target = std::move(pairs);
  return {};
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char letter : text) {
    if (letter == '%' || letter == ',' || letter == ' ' || letter == '=') {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    } else {
      encoded += letter;
    }
  }
  return encoded;
}

std::string show(const Pairs& pairs) {
  std::vector<std::string> items;
  for (const auto& [key, value] : pairs) {
    items.push_back(percent_encoded(key) + "=" + percent_encoded(value));
  }
  return toml_list(items);
}

std::string show(bool value) { return value ? "true" : "false"; }
std::string show(std::int64_t value) { return std::to_string(value); }
std::string show(std::uint64_t value) { return std::to_string(value); }
std::string show(std::chrono::seconds value) { return std::to_string(value.count()); }
std::string show(const std::string& value) { return toml_text(value); }
std::string show(const std::vector<std::string>& value) { return toml_list(value); }
std::string show(const CollectorOptions::Jobs& value) {
  return toml_list(value.user_label ? std::vector<std::string>{"user"}
                                    : std::vector<std::string>{});
}
std::string show(const PrometheusFamilies& value) {
  std::vector<std::string> names;
  if (value.node) names.emplace_back("node");
  if (value.dcgm) names.emplace_back("dcgm");
  if (value.own) names.emplace_back("own");
  return toml_list(names);
}

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
              "Internal: serve as the daemon's child process: procs, files, mounts or resolve"},

    OptionRow{kPlaces, "config", ValueKind::text, "FILE",
              "Read options from a TOML file, with the names of the flags as keys (default for the "
              "system's daemon: /etc/dynolog/dynolog.toml, when it exists; empty: none)"},
    OptionRow{
        kPlaces, "flagfile", ValueKind::text, "FILE",
        "Read flags from a file, one a line, # begins a comment; with - before its name it may "
        "be missing (default for the system's daemon: -/etc/dynolog.gflags; empty: none)"},
    OptionRow{kPlaces, "run_dir", ValueKind::text, "DIR",
              "Directory of the socket and of the journal (default: /run/dynolog for root, else "
              "$XDG_RUNTIME_DIR/dynolog or /tmp/dynolog-UID); several daemons on one machine "
              "each need their own",
              [](Options& to, const Values& from) {
                return keep(to.run_dir, text_value(from, kMaxRunDirectory));
              },
              [](const Options& from) { return show(from.run_dir); }, Reload::next_start},
    OptionRow{kPlaces, "state_dir", ValueKind::text, "DIR",
              "Directory of what outlives a reboot: traces that nobody fetched, and the history "
              "(default: /var/lib/dynolog for root, else dynolog/HOST in $XDG_STATE_HOME or "
              "~/.local/state); several daemons "
              "on one machine each need their own",
              [](Options& to, const Values& from) {
                return keep(to.state_dir, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.state_dir); }, Reload::next_start},
    OptionRow{kPlaces, "cpu_list", ValueKind::text, "CPUS",
              "CPUs that the daemon and its workers run on, such as 0-3,8: it keeps off those of a "
              "job (default: all)",
              [](Options& to, const Values& from) { return keep_cpus(to.cpu_list, from); },
              [](const Options& from) { return show(from.cpu_list); }, Reload::next_start},

    OptionRow{
        kPlaces, "worker_memory_mb", ValueKind::integer, "N",
        "MiB of memory that all workers together may take, where the service manager has "
        "delegated a control group (Delegate= of the unit): one that needs more ends, and the "
        "daemon does not; 0: no limit of their own",
        [](Options& to, const Values& from) {
          return keep(to.worker_memory_mb, integer_value(from, 0, 1'048'576));
        },
        [](const Options& from) { return show(from.worker_memory_mb); }, Reload::at_once},

    OptionRow{kTracing, "enable_ipc_monitor", ValueKind::flag, "",
              "Serve the abstract socket on which jobs with KINETO_USE_DAEMON=1 ask by themselves "
              "(default: yes for root; else only where no system daemon is installed)",
              [](Options& to, const Values& from) {
                return keep(to.kineto.abstract_endpoint, flag_value(from));
              },
              [](const Options& from) {
                const auto& wanted = from.kineto.abstract_endpoint;
                return wanted ? show(*wanted) : std::string();
              },
              Reload::next_start},
    OptionRow{kTracing, "kineto_socket_dir", ValueKind::list, "DIR,...",
              "Serve a socket in this directory too, for containers that share it and set "
              "KINETO_IPC_SOCKET_DIR to it; may be given many times",
              [](Options& to, const Values& from) {
                return keep_socket_dirs(to.kineto.socket_dirs, from);
              },
              [](const Options& from) { return show(from.kineto.socket_dirs); }, Reload::at_once},
    OptionRow{kTracing, "kineto_user_directories", ValueKind::flag, "",
              "Make a socket directory of the user's own when `dyno env` asks for one",
              [](Options& to, const Values& from) {
                return keep(to.kineto.user_directories, flag_value(from));
              },
              [](const Options& from) { return show(from.kineto.user_directories); },
              Reload::at_once},
    OptionRow{
        kTracing, "kineto_realtime", ValueKind::flag, "",
        "Answer jobs at real-time priority where permitted: on a busy host a job does not wait "
        "for a late answer",
        [](Options& to, const Values& from) { return keep(to.kineto.realtime, flag_value(from)); },
        [](const Options& from) { return show(from.kineto.realtime); }, Reload::next_start},
    OptionRow{kTracing, "trace_staged_timeout_s", ValueKind::integer, "N",
              "Seconds after which a configuration that its process did not fetch expires",
              [](Options& to, const Values& from) {
                return keep(to.sessions.staged_timeout_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.sessions.staged_timeout_s); },
              Reload::at_once},
    OptionRow{kTracing, "trace_write_timeout_s", ValueKind::integer, "N",
              "Seconds that a process may take to write its trace after the window has ended",
              [](Options& to, const Values& from) {
                return keep(to.sessions.write_timeout_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.sessions.write_timeout_s); },
              Reload::at_once},
    OptionRow{kTracing, "trace_fetch_timeout_s", ValueKind::integer, "N",
              "Seconds that a trace waits for whoever asked to fetch it; then the daemon keeps it",
              [](Options& to, const Values& from) {
                return keep(to.sessions.fetch_timeout_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.sessions.fetch_timeout_s); },
              Reload::at_once},
    OptionRow{kTracing, "trace_store_mb", ValueKind::integer, "N",
              "MiB of traces that the daemon keeps itself, compressed, where nobody fetched them; "
              "each user may have a quarter; 0: it keeps none",
              [](Options& to, const Values& from) {
                return keep(to.sessions.store_mb, integer_value(from, 0, 1'048'576));
              },
              [](const Options& from) { return show(from.sessions.store_mb); }, Reload::next_start},
    OptionRow{kTracing, "trace_store_hours", ValueKind::integer, "N",
              "Hours after which a trace that the daemon keeps is removed",
              [](Options& to, const Values& from) {
                return keep(to.sessions.store_hours, integer_value(from, 1, 8'760));
              },
              [](const Options& from) { return show(from.sessions.store_hours); }, Reload::at_once},

    OptionRow{kRpc, "port", ValueKind::integer, "N",
              "TCP port for existing clients; 0 takes any free one, -1 none",
              [](Options& to, const Values& from) {
                return keep(to.rpc.port, integer_value(from, -1, 65'535));
              },
              [](const Options& from) { return show(std::int64_t{from.rpc.port}); },
              Reload::next_start},
    OptionRow{kRpc, "no_tcp", ValueKind::flag, "", "The same as --port=-1: unix socket only"},
    OptionRow{
        kRpc, "rpc_bind", ValueKind::text, "ADDRESS",
        "Address to listen on (default: loopback); one beyond loopback needs "
        "--rpc_auth=none",
        [](Options& to, const Values& from) { return keep(to.rpc.bind, address_value(from)); },
        [](const Options& from) { return show(from.rpc.bind); }, Reload::next_start},
    OptionRow{kRpc, "rpc_auth", ValueKind::text, "HOW",
              "loopback: callers on this host are known by their socket; none: whoever can connect "
              "may call",
              [](Options& to, const Values& from) { return keep_auth(to.rpc.auth, from); },
              [](const Options& from) {
                return show(std::string(from.rpc.auth == rpc::RpcAuth::none ? "none" : "loopback"));
              },
              Reload::next_start},
    OptionRow{
        kRpc, "rpc_loopback_identity", ValueKind::flag, "",
        "Know a caller on loopback TCP by the owner of its socket; off: such callers may only "
        "ask for status and version",
        [](Options& to, const Values& from) {
          return keep(to.rpc.loopback_identity, flag_value(from));
        },
        [](const Options& from) { return show(from.rpc.loopback_identity); }, Reload::at_once},
    OptionRow{kRpc, "rpc_loopback_root", ValueKind::flag, "",
              "Let root be root over loopback TCP too; off: only on the unix socket",
              [](Options& to, const Values& from) {
                return keep(to.rpc.loopback_root, flag_value(from));
              },
              [](const Options& from) { return show(from.rpc.loopback_root); }, Reload::at_once},
    OptionRow{kRpc, "rpc_max_connections", ValueKind::integer, "N",
              "Connections at one time; more are closed",
              [](Options& to, const Values& from) {
                return keep(to.rpc.max_connections, integer_value(from, 1, 65'536));
              },
              [](const Options& from) { return show(from.rpc.max_connections); }, Reload::at_once},
    OptionRow{
        kRpc, "rpc_max_connections_per_uid", ValueKind::integer, "N",
        "Connections of one user at one time over the unix socket, and as many over TCP; root "
        "and the daemon's own user may have more",
        [](Options& to, const Values& from) {
          return keep(to.rpc.max_connections_per_uid, integer_value(from, 1, 65'536));
        },
        [](const Options& from) { return show(from.rpc.max_connections_per_uid); },
        Reload::at_once},
    OptionRow{kRpc, "rpc_idle_timeout_s", ValueKind::integer, "N",
              "Seconds after which a connection without a request is closed",
              [](Options& to, const Values& from) {
                return keep(to.rpc.idle_timeout_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.rpc.idle_timeout_s); }, Reload::at_once},

    OptionRow{kMetrics, "kernel_monitor_reporting_interval_s", ValueKind::integer, "N",
              "Seconds between two readings of the host",
              [](Options& to, const Values& from) {
                return keep(to.metrics.interval_s, integer_value(from, 1, 86'400));
              },
              [](const Options& from) { return show(from.metrics.interval_s); }, Reload::at_once},
    OptionRow{kMetrics, "disabled_collectors", ValueKind::list, "NAME,...",
              "Collectors that do not run; `dynolog --list_metrics` names them",
              [](Options& to, const Values& from) {
                return keep(to.metrics.disabled_collectors, list_value(from));
              },
              [](const Options& from) { return show(from.metrics.disabled_collectors); },
              Reload::at_once},
    OptionRow{kMetrics, "collector_interval", ValueKind::list, "NAME=SECONDS,...",
              "Seconds between two readings of a collector, instead of its own 1, 10 or 60",
              [](Options& to, const Values& from) {
                return keep_intervals(to.metrics.collectors.intervals, from);
              },
              [](const Options& from) { return show(from.metrics.collectors.intervals); },
              Reload::at_once},
    OptionRow{
        kMetrics, "disk_include", ValueKind::text, "REGEX",
        "Disks whose figures are read, by name; empty: all",
        [](Options& to, const Values& from) {
          return keep_pattern(to.metrics.collectors.disk.devices.include, from);
        },
        [](const Options& from) { return show(from.metrics.collectors.disk.devices.include); },
        Reload::at_once},
    OptionRow{
        kMetrics, "disk_exclude", ValueKind::text, "REGEX",
        "Disks that are left out; partitions by default",
        [](Options& to, const Values& from) {
          return keep_pattern(to.metrics.collectors.disk.devices.exclude, from);
        },
        [](const Options& from) { return show(from.metrics.collectors.disk.devices.exclude); },
        Reload::at_once},
    OptionRow{kMetrics, "filesystem_mounts_include", ValueKind::text, "REGEX",
              "Mount points whose room is read; empty: all",
              [](Options& to, const Values& from) {
                return keep_pattern(to.metrics.collectors.filesystem.mount_points.include, from);
              },
              [](const Options& from) {
                return show(from.metrics.collectors.filesystem.mount_points.include);
              },
              Reload::at_once},
    OptionRow{kMetrics, "filesystem_mounts_exclude", ValueKind::text, "REGEX",
              "Mount points that are left out",
              [](Options& to, const Values& from) {
                return keep_pattern(to.metrics.collectors.filesystem.mount_points.exclude, from);
              },
              [](const Options& from) {
                return show(from.metrics.collectors.filesystem.mount_points.exclude);
              },
              Reload::at_once},
    OptionRow{
        kMetrics, "filesystem_types_include", ValueKind::text, "REGEX",
        "Types of file systems whose room is read; empty: all",
        [](Options& to, const Values& from) {
          return keep_pattern(to.metrics.collectors.filesystem.types.include, from);
        },
        [](const Options& from) { return show(from.metrics.collectors.filesystem.types.include); },
        Reload::at_once},
    OptionRow{
        kMetrics, "filesystem_types_exclude", ValueKind::text, "REGEX",
        "Types of file systems that are left out; the kernel's own by default",
        [](Options& to, const Values& from) {
          return keep_pattern(to.metrics.collectors.filesystem.types.exclude, from);
        },
        [](const Options& from) { return show(from.metrics.collectors.filesystem.types.exclude); },
        Reload::at_once},
    OptionRow{kMetrics, "net_include", ValueKind::text, "REGEX",
              "Network interfaces whose traffic is read, by name; empty: all",
              [](Options& to, const Values& from) {
                return keep_pattern(to.metrics.collectors.net.devices.include, from);
              },
              [](const Options& from) { return show(from.metrics.collectors.net.devices.include); },
              Reload::at_once},
    OptionRow{kMetrics, "net_exclude", ValueKind::text, "REGEX",
              "Network interfaces whose traffic is left out",
              [](Options& to, const Values& from) {
                return keep_pattern(to.metrics.collectors.net.devices.exclude, from);
              },
              [](const Options& from) { return show(from.metrics.collectors.net.devices.exclude); },
              Reload::at_once},
    OptionRow{kMetrics, "filter_nic_interfaces", ValueKind::flag, "",
              "Read the traffic of those interfaces only that --allow_interface_prefixes names",
              [](Options& to, const Values& from) {
                return keep(to.metrics.collectors.net.by_prefix, flag_value(from));
              },
              [](const Options& from) { return show(from.metrics.collectors.net.by_prefix); },
              Reload::at_once},
    OptionRow{kMetrics, "allow_interface_prefixes", ValueKind::list, "PREFIX,...",
              "With --filter_nic_interfaces: how the names of those interfaces begin",
              [](Options& to, const Values& from) {
                return keep(to.metrics.collectors.net.prefixes, list_value(from));
              },
              [](const Options& from) { return show(from.metrics.collectors.net.prefixes); },
              Reload::at_once},
    OptionRow{
        kMetrics, "netclass_include", ValueKind::text, "REGEX",
        "Network interfaces whose state is read, by name; empty: all",
        [](Options& to, const Values& from) {
          return keep_pattern(to.metrics.collectors.net.attributes.include, from);
        },
        [](const Options& from) { return show(from.metrics.collectors.net.attributes.include); },
        Reload::at_once},
    OptionRow{
        kMetrics, "netclass_exclude", ValueKind::text, "REGEX",
        "Network interfaces whose state is left out",
        [](Options& to, const Values& from) {
          return keep_pattern(to.metrics.collectors.net.attributes.exclude, from);
        },
        [](const Options& from) { return show(from.metrics.collectors.net.attributes.exclude); },
        Reload::at_once},
    OptionRow{
        kMetrics, "ethtool_include", ValueKind::text, "REGEX",
        "Statistics of network drivers (ethtool -S) that are read, by the driver's name for them; "
        "empty: all, hundreds to thousands an adapter",
        [](Options& to, const Values& from) {
          return keep_pattern(to.metrics.collectors.ethtool.statistics.include, from);
        },
        [](const Options& from) {
          return show(from.metrics.collectors.ethtool.statistics.include);
        },
        Reload::at_once},
    OptionRow{kMetrics, "ethtool_exclude", ValueKind::text, "REGEX",
              "Statistics of network drivers that are left out; those of single queues by default",
              [](Options& to, const Values& from) {
                return keep_pattern(to.metrics.collectors.ethtool.statistics.exclude, from);
              },
              [](const Options& from) {
                return show(from.metrics.collectors.ethtool.statistics.exclude);
              },
              Reload::at_once},
    OptionRow{
        kMetrics, "cgroup_slices", ValueKind::list, "NAME,...",
        "Control groups whose figures are read besides those of jobs and pods, as paths below "
        "the hierarchy: system.slice/sshd.service",
        [](Options& to, const Values& from) {
          return keep_slices(to.metrics.collectors.cgroups.slices, from);
        },
        [](const Options& from) { return show(from.metrics.collectors.cgroups.slices); },
        Reload::at_once},
    OptionRow{kMetrics, "job_labels", ValueKind::list, "NAME,...",
              "What dynolog_job_info says besides: user, which is the name of whose job it is",
              [](Options& to, const Values& from) {
                return keep_job_labels(to.metrics.collectors.jobs, from);
              },
              [](const Options& from) { return show(from.metrics.collectors.jobs); },
              Reload::at_once},
    OptionRow{kMetrics, "top_processes", ValueKind::integer, "N",
              "Processes of the host whose figures are kept: so many that use most CPU, memory and "
              "IO each, 0 to 100; 0: none. Not on the page for Prometheus",
              [](Options& to, const Values& from) {
                return keep(to.metrics.collectors.top.processes, integer_value(from, 0, 100));
              },
              [](const Options& from) { return show(from.metrics.collectors.top.processes); },
              Reload::at_once},
    OptionRow{kMetrics, "systemd_units", ValueKind::list, "NAME,...",
              "Units of systemd whose states are read each minute, such as slurmd.service; none: "
              "nobody is asked",
              [](Options& to, const Values& from) {
                return keep_units(to.metrics.collectors.systemd.units, from);
              },
              [](const Options& from) { return show(from.metrics.collectors.systemd.units); },
              Reload::at_once},
    OptionRow{kMetrics, "textfile_directory", ValueKind::text, "DIR",
              "Directory whose files *.prom hold metrics in Prometheus' text format; empty: none",
              [](Options& to, const Values& from) {
                return keep(to.metrics.collectors.textfile.directory,
                            text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.collectors.textfile.directory); },
              Reload::at_once},
    OptionRow{kMetrics, "netstat_fields", ValueKind::text, "REGEX",
              "Counters of the network protocols that are read, such as Tcp_RetransSegs",
              [](Options& to, const Values& from) {
                return keep_pattern(to.metrics.collectors.netstat.fields, from);
              },
              [](const Options& from) { return show(from.metrics.collectors.netstat.fields); },
              Reload::at_once},
    OptionRow{kMetrics, "vmstat_fields", ValueKind::text, "REGEX",
              "Fields of /proc/vmstat that are read",
              [](Options& to, const Values& from) {
                return keep_pattern(to.metrics.collectors.vmstat.fields, from);
              },
              [](const Options& from) { return show(from.metrics.collectors.vmstat.fields); },
              Reload::at_once},
    OptionRow{kMetrics, "interrupts_per_cpu", ValueKind::flag, "",
              "Read each interrupt of each CPU, not only totals by kind: thousands of series on a "
              "large host",
              [](Options& to, const Values& from) {
                return keep(to.metrics.collectors.interrupts.per_cpu, flag_value(from));
              },
              [](const Options& from) { return show(from.metrics.collectors.interrupts.per_cpu); },
              Reload::at_once},
    OptionRow{kMetrics, "use_JSON", ValueKind::flag, "", "Write metrics as lines of JSON",
              [](Options& to, const Values& from) {
                return keep(to.metrics.json.enabled, flag_value(from));
              },
              [](const Options& from) { return show(from.metrics.json.enabled); }, Reload::at_once},
    OptionRow{kMetrics, "json_interval_s", ValueKind::integer, "N",
              "Seconds from line to line; each speaks of all readings since the one before",
              [](Options& to, const Values& from) {
                return keep_seconds(to.metrics.json.interval, from);
              },
              [](const Options& from) { return show(from.metrics.json.interval); },
              Reload::at_once},
    OptionRow{kMetrics, "json_file", ValueKind::text, "FILE",
              "File that the JSON lines are appended to (default: standard output)",
              [](Options& to, const Values& from) {
                return keep(to.metrics.json.file, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.json.file); }, Reload::at_once},
    OptionRow{kMetrics, "json_file_max_bytes", ValueKind::integer, "N",
              "Size at which that file becomes FILE.1 and a new one is begun; 0: never",
              [](Options& to, const Values& from) {
                return keep(to.metrics.json.rotation.max_bytes,
                            integer_value(from, 0, std::int64_t{1} << 50U));
              },
              [](const Options& from) { return show(from.metrics.json.rotation.max_bytes); },
              Reload::at_once},
    OptionRow{kMetrics, "json_file_keep", ValueKind::integer, "N",
              "Full files that are kept, FILE.1 to FILE.N; 0: a full file is emptied",
              [](Options& to, const Values& from) {
                return keep(to.metrics.json.rotation.keep, integer_value(from, 0, 1000));
              },
              [](const Options& from) { return show(from.metrics.json.rotation.keep); },
              Reload::at_once},
    OptionRow{kMetrics, "use_fbrelay", ValueKind::flag, "",
              "Send the JSON lines to a relay, over a TCP or unix socket",
              [](Options& to, const Values& from) {
                return keep(to.metrics.relay.enabled, flag_value(from));
              },
              [](const Options& from) { return show(from.metrics.relay.enabled); },
              Reload::at_once},
    OptionRow{
        kMetrics, "fbrelay_address", ValueKind::text, "HOST",
        "The relay: a host's name, an IPv4 or IPv6 address, or the path of a unix socket "
        "(@NAME: an abstract one)",
        [](Options& to, const Values& from) { return keep_relay(to.metrics.relay.address, from); },
        [](const Options& from) { return show(from.metrics.relay.address); }, Reload::at_once},
    OptionRow{kMetrics, "fbrelay_port", ValueKind::integer, "N", "The relay's TCP port",
              [](Options& to, const Values& from) {
                return keep(to.metrics.relay.port, integer_value(from, 1, 65'535));
              },
              [](const Options& from) { return show(std::int64_t{from.metrics.relay.port}); },
              Reload::at_once},
    OptionRow{kMetrics, "fbrelay_interval_s", ValueKind::integer, "N",
              "Seconds from line to line of the relay",
              [](Options& to, const Values& from) {
                return keep_seconds(to.metrics.relay.interval, from);
              },
              [](const Options& from) { return show(from.metrics.relay.interval); },
              Reload::at_once},
    OptionRow{kMetrics, "use_otlp", ValueKind::flag, "",
              "Send metrics to a receiver of OpenTelemetry's protocol; OTEL_EXPORTER_OTLP_*, "
              "OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the environment count where no "
              "option is given",
              [](Options& to, const Values& from) {
                return keep(to.metrics.otlp.enabled, flag_value(from));
              },
              [](const Options& from) { return show(from.metrics.otlp.enabled); }, Reload::at_once},
    OptionRow{
        kMetrics, "otlp_endpoint", ValueKind::text, "URL",
        "The receiver, http:// or https://; /v1/metrics where it has no path",
        [](Options& to, const Values& from) { return keep_url(to.metrics.otlp.endpoint, from); },
        [](const Options& from) { return show(from.metrics.otlp.endpoint); }, Reload::at_once},
    OptionRow{kMetrics, "otlp_interval_s", ValueKind::integer, "N",
              "Seconds from request to request; gauges are averaged in between",
              [](Options& to, const Values& from) {
                return keep_seconds(to.metrics.otlp.interval, from);
              },
              [](const Options& from) { return show(from.metrics.otlp.interval); },
              Reload::at_once},
    OptionRow{kMetrics, "otlp_headers", ValueKind::list, "NAME=VALUE,...",
              "Fields of each request's header; a comma in a value is %2C, a percent sign %25",
              [](Options& to, const Values& from) {
                return keep_pairs(to.metrics.otlp.headers, from, is_header);
              },
              [](const Options& from) { return show(from.metrics.otlp.headers); }, Reload::at_once},
    OptionRow{kMetrics, "otlp_service_name", ValueKind::text, "NAME",
              "The attribute service.name (default: dynolog)",
              [](Options& to, const Values& from) {
                return keep(to.metrics.otlp.service_name, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.otlp.service_name); },
              Reload::at_once},
    OptionRow{kMetrics, "otlp_resource_attributes", ValueKind::list, "KEY=VALUE,...",
              "More attributes of this host, or other values of host.name and its like",
              [](Options& to, const Values& from) {
                return keep_pairs(to.metrics.otlp.resource_attributes, from, is_attribute);
              },
              [](const Options& from) { return show(from.metrics.otlp.resource_attributes); },
              Reload::at_once},
    OptionRow{kMetrics, "otlp_compression", ValueKind::text, "HOW", "gzip or none",
              [](Options& to, const Values& from) {
                return keep_compression(to.metrics.otlp.compress, from);
              },
              [](const Options& from) {
                return show(std::string(from.metrics.otlp.compress ? "gzip" : "none"));
              },
              Reload::at_once},
    OptionRow{
        kMetrics, "otlp_timeout_ms", ValueKind::integer, "N",
        "Milliseconds that one request may take",
        [](Options& to, const Values& from) {
          return keep_milliseconds(to.metrics.otlp.timeout, from);
        },
        [](const Options& from) { return show(std::int64_t{from.metrics.otlp.timeout.count()}); },
        Reload::at_once},
    OptionRow{kMetrics, "otlp_max_queue_size", ValueKind::integer, "N",
              "Requests that wait for a receiver that is away; older ones are dropped",
              [](Options& to, const Values& from) {
                return keep(to.metrics.otlp.max_queued, integer_value(from, 1, 1'000'000));
              },
              [](const Options& from) { return show(std::uint64_t{from.metrics.otlp.max_queued}); },
              Reload::at_once},
    OptionRow{
        kMetrics, "otlp_max_queue_bytes", ValueKind::integer, "N",
        "Bytes of them, as they are sent",
        [](Options& to, const Values& from) {
          return keep(to.metrics.otlp.max_queued_bytes,
                      integer_value(from, 1, std::int64_t{1} << 40U));
        },
        [](const Options& from) { return show(std::uint64_t{from.metrics.otlp.max_queued_bytes}); },
        Reload::at_once},
    OptionRow{kMetrics, "otlp_ssl_ca_cert_path", ValueKind::text, "FILE",
              "CA certificates in PEM that the receiver's certificate is checked with (default: "
              "the system's)",
              [](Options& to, const Values& from) {
                return keep(to.metrics.otlp.tls_ca, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.otlp.tls_ca); }, Reload::at_once},
    OptionRow{kMetrics, "otlp_ssl_client_cert_path", ValueKind::text, "FILE",
              "This host's own certificate, with its chain, in PEM, for receivers that ask for one",
              [](Options& to, const Values& from) {
                return keep(to.metrics.otlp.tls_certificate, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.otlp.tls_certificate); },
              Reload::at_once},
    OptionRow{kMetrics, "otlp_ssl_client_key_path", ValueKind::text, "FILE",
              "Private key of that certificate, in PEM, without a passphrase",
              [](Options& to, const Values& from) {
                return keep(to.metrics.otlp.tls_key, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.otlp.tls_key); }, Reload::at_once},
    OptionRow{kMetrics, "use_prometheus", ValueKind::flag, "",
              "Serve metrics on HTTP for Prometheus, at /metrics",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.enabled, flag_value(from));
              },
              [](const Options& from) { return show(from.metrics.prometheus.enabled); },
              Reload::at_once},
    OptionRow{kMetrics, "prometheus_port", ValueKind::integer, "N",
              "TCP port of the page; 0 takes any free one",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.port, integer_value(from, 0, 65'535));
              },
              [](const Options& from) { return show(std::int64_t{from.metrics.prometheus.port}); },
              Reload::at_once},
    OptionRow{kMetrics, "prometheus_address", ValueKind::text, "ADDRESS",
              "Address that the page is served on (default: 127.0.0.1)",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.address, address_value(from));
              },
              [](const Options& from) { return show(from.metrics.prometheus.address); },
              Reload::at_once},
    OptionRow{
        kMetrics, "prometheus_families", ValueKind::list, "KIND,...",
        "What the page has: node (named as node_exporter does), dcgm (as dcgm-exporter does), "
        "own (the rest)",
        [](Options& to, const Values& from) {
          return keep_families(to.metrics.prometheus.families, from);
        },
        [](const Options& from) { return show(from.metrics.prometheus.families); },
        Reload::at_once},
    OptionRow{kMetrics, "prometheus_tls_cert", ValueKind::text, "FILE",
              "Certificate of the page, with its chain, in PEM: HTTPS instead of HTTP",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.tls_certificate, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.prometheus.tls_certificate); },
              Reload::at_once},
    OptionRow{kMetrics, "prometheus_tls_key", ValueKind::text, "FILE",
              "Private key of that certificate, in PEM, without a passphrase",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.tls_key, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.prometheus.tls_key); },
              Reload::at_once},
    OptionRow{kMetrics, "prometheus_tls_client_ca", ValueKind::text, "FILE",
              "CA certificates in PEM: only clients with a certificate of theirs are served",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.tls_client_ca, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.prometheus.tls_client_ca); },
              Reload::at_once},
    OptionRow{kMetrics, "prometheus_basic_auth_file", ValueKind::text, "FILE",
              "File whose first line is user:password; the page asks for them",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.basic_auth_file, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.prometheus.basic_auth_file); },
              Reload::at_once},
    OptionRow{kMetrics, "prometheus_token_file", ValueKind::text, "FILE",
              "File whose first line is a bearer token; the page asks for it",
              [](Options& to, const Values& from) {
                return keep(to.metrics.prometheus.token_file, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.metrics.prometheus.token_file); },
              Reload::at_once},
    OptionRow{kMetrics, "use_history", ValueKind::flag, "",
              "Keep the last hours on this host, for `dyno metrics` and `dyno top`",
              [](Options& to, const Values& from) {
                return keep(to.metrics.history.enabled, flag_value(from));
              },
              [](const Options& from) { return show(from.metrics.history.enabled); },
              Reload::next_start},
    OptionRow{
        kMetrics, "history_dir", ValueKind::text, "DIR",
        "Directory of the history (default: history in --state_dir); on a network file system "
        "or tmpfs it is kept in memory only",
        [](Options& to, const Values& from) {
          return keep(to.metrics.history.directory, text_value(from, kMaxTextValue));
        },
        [](const Options& from) { return show(from.metrics.history.directory); },
        Reload::next_start},
    OptionRow{kMetrics, "history_mb", ValueKind::integer, "N",
              "MiB of history on disk; the oldest goes first",
              [](Options& to, const Values& from) {
                return keep(to.metrics.history.mb, integer_value(from, 1, 1'048'576));
              },
              [](const Options& from) { return show(from.metrics.history.mb); },
              Reload::next_start},
    OptionRow{kMetrics, "history_memory_mb", ValueKind::integer, "N",
              "MiB of history where it can be kept in memory only",
              [](Options& to, const Values& from) {
                return keep(to.metrics.history.memory_mb, integer_value(from, 1, 65'536));
              },
              [](const Options& from) { return show(from.metrics.history.memory_mb); },
              Reload::next_start},

    OptionRow{kLogging, "log_level", ValueKind::text, "LEVEL",
              "Least level that is logged: debug, info, warning or error",
              [](Options& to, const Values& from) { return keep_level(to.log_level, from); },
              [](const Options& from) {
                return show(std::string(kLevels.at(static_cast<std::size_t>(from.log_level))));
              },
              Reload::at_once},
    OptionRow{kLogging, "log_file", ValueKind::text, "FILE",
              "File that the log is appended to (default: stderr, which is the journal under "
              "systemd); SIGHUP opens it anew, after it was rotated",
              [](Options& to, const Values& from) {
                return keep(to.log_file, text_value(from, kMaxTextValue));
              },
              [](const Options& from) { return show(from.log_file); }, Reload::at_once},
    OptionRow{
        kLogging, "core_dumps", ValueKind::flag, "",
        "Let the kernel write core dumps of the daemon and its workers, and let processes of the "
        "same user look into them; a dump holds what jobs and users told the daemon",
        [](Options& to, const Values& from) { return keep(to.core_dumps, flag_value(from)); },
        [](const Options& from) { return show(from.core_dumps); }, Reload::next_start},
};

constexpr std::string_view kGpu = "GPU monitoring";
constexpr std::string_view kPerf = "CPU counters";
constexpr std::string_view kGlog = "glog: it logs to stderr, see --log_level";

constexpr std::array kFieldFlags{
    FieldFlag{"use_ODS", ValueKind::flag, "ODS, a store inside Meta", true},
    FieldFlag{"use_scuba", ValueKind::flag, "Scuba, a store inside Meta", true},
    FieldFlag{"enable_gpu_monitor", ValueKind::flag, kGpu},
    FieldFlag{"dcgm_reporting_interval_s", ValueKind::text, kGpu},
    FieldFlag{"dcgm_lib_path", ValueKind::text, kGpu},
    FieldFlag{"dcgm_fields", ValueKind::text, kGpu},
    FieldFlag{"enable_perf_monitor", ValueKind::flag, kPerf},
    FieldFlag{"perf_monitor_reporting_interval_s", ValueKind::text, kPerf},
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

char folded(char letter) { return letter == '-' ? '_' : to_lower(letter); }

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
