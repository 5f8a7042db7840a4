// Tables and sentences for status and ps. Texts were cleaned when they were decoded.
#include "cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "cli/table.h"

namespace dynolog {
namespace {

using Align = Table::Align;

constexpr std::size_t kShortestCommand = 20;

std::string state_text(const rpc::ProcessRow& row) {
  return row.at_risk.empty() ? row.state : row.state + " (at risk)";
}

std::string gpus_text(const rpc::ProcessRow& row) {
  if (row.gpus.empty()) return row.holds_gpu ? "yes" : "-";
  return fmt::format("{}", fmt::join(row.gpus, ","));
}

std::string notes_below(const rpc::ListProcessesReply& reply) {
  // The same sentence once, with all the pids that it concerns.
  std::map<std::string, std::vector<std::int64_t>> notes;
  for (const rpc::ProcessRow& row : reply.processes) {
    if (!row.at_risk.empty()) notes["at risk: " + row.at_risk].push_back(row.pid);
  }
  std::string text;
  for (const auto& [note, pids] : notes) {
    text +=
        fmt::format("\nPid{} {}: {}\n", pids.size() == 1 ? "" : "s", fmt::join(pids, ", "), note);
  }
  return text;
}

}  // namespace

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string short_command(const std::string& command, std::size_t room) {
  if (characters(command) <= room) return command;
  const std::size_t slash = command.substr(0, command.find(' ')).rfind('/');
  return cut(slash == std::string::npos ? command : command.substr(slash + 1), room);
}

std::string process_text(std::int64_t pid, const std::optional<int>& rank) {
  return rank ? fmt::format("rank {}, pid {}", *rank, pid) : fmt::format("pid {}", pid);
}

std::string role_text(const std::string& role) {
  std::string text = or_dash(role);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(std::min(seconds, 1e15));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", whole / 60);
  if (whole < 172'800) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {:02} h", whole / 86'400, whole / 3600 % 24);
}

std::string rank_text(const std::optional<int>& rank, const std::optional<int>& world_size) {
  if (!rank) return "-";
  return world_size ? fmt::format("{}/{}", *rank, *world_size) : std::to_string(*rank);
}

namespace {

// Microseconds where a collector takes those.
std::string time_text(double seconds) {
  return seconds < 0.00995 ? fmt::format("{:.2f} ms", seconds * 1000)
                           : fmt::format("{:.0f} ms", seconds * 1000);
}

// Of the lines at the top. What an older daemon does not say has none.
std::string line(std::string_view name, const std::string& text) {
  return text.empty() ? "" : fmt::format("{:<15}{}\n", name, text);
}

std::string number_text(const std::optional<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

std::string identity_text(const rpc::StatusReply& reply) {
  std::string name = "dynolog";
  if (!reply.version.empty()) name += " " + reply.version;
  if (!reply.host.empty()) name += " on " + reply.host;
  return joined({name, reply.mode.empty() ? "" : reply.mode + " mode",
                 reply.pid ? fmt::format("pid {}", *reply.pid) : "",
                 reply.uptime_s ? "up " + duration_text(*reply.uptime_s) : ""}) +
         "\n";
}

// The daemon's own.
std::string cost_text(const rpc::StatusReply& reply) {
  const rpc::OwnCost cost = reply.cost.value_or(rpc::OwnCost{});
  std::string out =
      line("cpu",
           joined({cost.cpu_share ? fmt::format("{:.2f} % of a core over {}", *cost.cpu_share * 100,
                                                duration_text(cost.window_s))
                                  : "",
                   reply.cpu_seconds ? fmt::format("{:.2f} s since its start", *reply.cpu_seconds)
                                     : ""}));
  out +=
      line("memory",
           joined({cost.memory_kind == "pss" ? bytes_text(cost.memory_bytes) + " (PSS)" : "",
                   reply.resident_bytes ? bytes_text(*reply.resident_bytes) + " resident" : ""}));
  if (cost.wakeups_per_s) out += line("wake-ups", fmt::format("{:.1f}/s", *cost.wakeups_per_s));
  if (cost.open_descriptors) {
    out +=
        line("descriptors", fmt::format("{} of {}", *cost.open_descriptors, cost.descriptor_limit));
  }
  if (reply.cost) {
    out += line("workers", fmt::format("{}, {} restart{}", cost.workers, cost.worker_restarts,
                                       cost.worker_restarts == 1 ? "" : "s"));
  }
  return out;
}

// An old error is told apart from one of now: "(was) ...".
std::string stage_error(const rpc::CollectorState& stage) {
  if (stage.last_error.empty()) return "";
  return stage.failing.value_or(true) ? stage.last_error : "(earlier) " + stage.last_error;
}

std::string stage_state(const rpc::CollectorState& stage) {
  if (stage.unavailable.value_or(false)) return "not here";
  if (!stage.failing) return "-";
  return *stage.failing ? "failing" : "ok";
}

std::optional<std::uint64_t> runs_of(const rpc::CollectorState& stage) {
  if (!stage.successes || !stage.failures) return std::nullopt;
  return *stage.successes + *stage.failures;
}

// What this host has not is no failure.
std::optional<std::uint64_t> failures_of(const rpc::CollectorState& stage) {
  return stage.unavailable.value_or(false) ? std::nullopt : stage.failures;
}

std::string period_text(const std::optional<std::uint64_t>& period_s) {
  if (!period_s) return "-";
  return *period_s > 0 ? fmt::format("{} s", *period_s) : "tick";
}

std::string mean_cost(const rpc::CollectorState& stage) {
  const auto runs = runs_of(stage);
  if (!runs || *runs == 0 || !stage.total_duration_s) return "-";
  return time_text(*stage.total_duration_s / static_cast<double>(*runs));
}

// Collectors are many; those sinks that there are have queues.
std::string stages_text(const rpc::StatusReply& reply, std::string_view kind) {
  using enum Table::Align;
  const bool sinks = kind == "sink";
  Table table = sinks ? Table({{"SINK"},
                               {"STATE"},
                               {"AGE", right},
                               {"MEAN", right},
                               {"LAST", right},
                               {"QUEUED", right},
                               {"DROPPED", right},
                               {"UNDELIVERED", right},
                               {"LAST ERROR"}})
                      : Table({{"COLLECTOR"},
                               {"STATE"},
                               {"AGE", right},
                               {"EVERY", right},
                               {"MEAN", right},
                               {"LAST", right},
                               {"RUNS", right},
                               {"FAILED", right},
                               {"ABSENT", right},
                               {"LAST ERROR"}});
  bool any = false;
  for (const rpc::CollectorState& stage : reply.collectors) {
    if (stage.kind != kind) continue;
    any = true;
    std::vector<std::string> cells{stage.name, stage_state(stage),
                                   stage.age_s ? duration_text(*stage.age_s) : "never"};
    if (!sinks) cells.push_back(period_text(stage.period_s));
    cells.push_back(mean_cost(stage));
    cells.push_back(stage.last_duration_s ? time_text(*stage.last_duration_s) : "-");
    for (const auto& count :
         sinks ? std::array{stage.queue_length, stage.dropped, stage.delivery_failures}
               : std::array{runs_of(stage), failures_of(stage), stage.absent}) {
      cells.push_back(or_dash(number_text(count)));
    }
    cells.push_back(stage_error(stage));
    table.add(std::move(cells));
  }
  return any ? "\n" + table.text(0) : "";
}

}  // namespace

std::string render_status(const rpc::StatusReply& reply, const std::string& endpoint) {
  std::string out = identity_text(reply);
  out += line("asked at", endpoint);
  out += line("run directory", reply.run_dir);
  out += line("processes", number_text(reply.processes));
  out += line("sessions", number_text(reply.sessions));
  out += cost_text(reply);
  if (!reply.features.empty()) {
    Table table({{"FEATURE"}, {"STATE"}, {"WHY"}});
    for (const auto& feature : reply.features) {
      table.add({feature.name, feature.state, feature.reason});
    }
    out += "\n" + table.text(0);
  }
  out += stages_text(reply, "collector");
  out += stages_text(reply, "sink");
  std::string counters;
  for (const auto& [name, value] : reply.counters) {
    if (value > 0) counters += fmt::format("  {} {}\n", name, value);
  }
  if (!counters.empty()) out += "\ncounters\n" + counters;
  return out;
}

namespace {

// All but the commands.
std::vector<Table::Column> process_columns(bool wide) {
  std::vector<Table::Column> columns{
      {"PID", Align::right}, {"USER"}, {"JOB"}, {"RANK"}, {"GPU"}, {"ROLE"}, {"TORCH"}, {"STATE"},
      {"LAST-POLL"}};
  if (wide) {
    for (const char* name : {"SCHEDULER", "STEP", "PERIOD", "NSPID", "CONTAINER", "ENDPOINT"}) {
      columns.push_back({name});
    }
  }
  columns.push_back({"COMMAND"});
  return columns;
}

Table process_table(const rpc::ListProcessesReply& reply, bool wide,
                    const std::function<std::string(const std::string&)>& command) {
  Table table(process_columns(wide));
  for (const rpc::ProcessRow& row : reply.processes) {
    std::vector<std::string> cells{std::to_string(row.pid),
                                   or_dash(row.user),
                                   or_dash(row.job),
                                   rank_text(row.rank, row.world_size),
                                   gpus_text(row),
                                   role_text(row.role),
                                   or_dash(row.torch_version),
                                   state_text(row),
                                   duration_text(row.last_poll_age_s)};
    if (wide) {
      cells.push_back(or_dash(row.scheduler));
      cells.push_back(or_dash(row.step));
      cells.push_back(row.poll_period_s ? duration_text(*row.poll_period_s) : "-");
      cells.push_back(row.namespace_pid > 0 ? std::to_string(row.namespace_pid) : "-");
      cells.push_back(or_dash(row.container));
      cells.push_back(or_dash(row.endpoint));
    }
    cells.push_back(command(row.command));
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

std::string render_processes(const rpc::ListProcessesReply& reply, bool wide, int columns) {
  const auto whole = [](const std::string& command) { return command; };
  const auto none = [](const std::string& /*command*/) { return std::string(); };
  std::string out;
  if (wide || columns <= 0) {
    out = process_table(reply, wide, whole).text(0);
  } else {
    const std::string empty = process_table(reply, wide, none).text(0);
    const std::size_t before = characters(empty.substr(0, empty.find("COMMAND")));
    const auto width = static_cast<std::size_t>(columns);
    const std::size_t room = std::max(kShortestCommand, width - std::min(width, before));
    out = process_table(reply, wide, [room](const std::string& command) {
            return short_command(command, room);
          }).text(0);
  }
  out += notes_below(reply);
  if (!wide) return out;
  for (const rpc::ProcessRow& row : reply.processes) {
    for (const std::string& missing : row.missing) {
      out += fmt::format("\nPid {}: could not be read: {}\n", row.pid, missing);
    }
  }
  return out;
}

std::string render_no_processes() {
  return "No PyTorch process of yours has called in. It does so when\n"
         "  - KINETO_USE_DAEMON=1 was set in its environment when it started: eval \"$(dyno "
         "env)\"\n"
         "  - it has imported torch (2.0 to 2.6 with CUDA: has made its first CUDA context)\n"
         "  - it shares this host's network namespace, or has KINETO_IPC_SOCKET_DIR set to a\n"
         "    directory that the daemon serves (containers)\n"
         "A process calls every 5 s, so one that started before the daemon is here within 5 s.\n";
}

}  // namespace dynolog
