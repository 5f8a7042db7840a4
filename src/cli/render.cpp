// Tables and sentences for status, ps and gputrace. Texts were cleaned when they were decoded.
#include "cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "cli/table.h"

namespace dynolog {
namespace {

using Align = Table::Align;

constexpr std::size_t kShortestCommand = 20;
constexpr std::size_t kSkippedCommand = 48;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// Where there is no room, an interpreter's directory says less than its arguments do.
std::string short_command(const std::string& command, std::size_t room) {
  if (characters(command) <= room) return command;
  const std::size_t slash = command.substr(0, command.find(' ')).rfind('/');
  return cut(slash == std::string::npos ? command : command.substr(slash + 1), room);
}

std::string who(std::int64_t pid, const std::optional<int>& rank) {
  return rank ? fmt::format("rank {}, pid {}", *rank, pid) : fmt::format("pid {}", pid);
}

std::string state_text(const rpc::ProcessRow& row) {
  std::string text = row.state;
  if (row.launcher) text += " (launcher)";
  if (!row.at_risk.empty()) text += " (at risk)";
  return text;
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

// "accepted by the process: warming up", said of the state warming_up, is said twice.
std::string sentence_of(const rpc::TraceUpdate& update) {
  std::string end = ": " + update.state;
  std::ranges::replace(end, '_', ' ');
  const std::string& sentence = update.sentence;
  return sentence.ends_with(end) ? sentence.substr(0, sentence.size() - end.size()) : sentence;
}

// What the sentence says beyond the state, for a table that has a column for the state.
std::string beyond_state(const rpc::TraceUpdate& update) {
  const std::string sentence = sentence_of(update);
  if (sentence == update.state) return "";
  return sentence.starts_with(update.state + ": ") ? sentence.substr(update.state.size() + 2)
                                                   : sentence;
}

bool says_state(const rpc::TraceUpdate& update) {
  const std::string& sentence = update.sentence;
  return sentence.starts_with(update.state) &&
         (sentence.size() == update.state.size() ||
          std::string_view(" ,:").find(sentence[update.state.size()]) != std::string_view::npos);
}

std::string figures(const rpc::TraceUpdate& update) {
  return fmt::format("{} events, {}", update.events, bytes_text(update.bytes));
}

std::string result_text(const rpc::TraceUpdate& update) {
  if (update.state != "written") return update.sentence;
  if (is_good(update)) return "";
  if (!update.problem.empty()) return update.problem;
  if (!update.checked) return "nobody could check the file";
  if (!update.whole) return "the file is not whole";
  return "the file is not of this session";
}

const rpc::PlannedTrace* plan_of(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  const auto found = std::ranges::find(outcome.planned, update.pid, &rpc::PlannedTrace::pid);
  return found == outcome.planned.end() ? nullptr : &*found;
}

std::string rank_of(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  const rpc::PlannedTrace* planned = plan_of(outcome, update);
  return rank_text(update.rank, planned == nullptr ? std::nullopt : planned->world_size);
}

// Where the trace lies, or will when it runs on by itself.
std::string file_of(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  if (update.ended && update.state != "written") return "-";
  if (!update.file.empty()) return update.file;
  const rpc::PlannedTrace* planned = plan_of(outcome, update);
  return planned == nullptr ? "-" : planned->file;
}

std::vector<std::string> summary_row(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  const bool counted = update.state == "written" && update.checked;
  return {rank_of(outcome, update),
          std::to_string(update.pid),
          update.state,
          counted ? std::to_string(update.events) : "-",
          update.bytes > 0 || counted ? bytes_text(update.bytes) : "-",
          file_of(outcome, update)};
}

}  // namespace

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

std::string render_status(const rpc::StatusReply& reply, const std::string& endpoint) {
  std::string out = fmt::format(
      "dynolog {} on {}, {} mode, pid {}, up {}\n"
      "asked at       {}\nrun directory  {}\n"
      "processes      {}\nsessions       {}\ncpu            {:.2f} s since its start\n"
      "memory         {}\n",
      reply.version, reply.host, reply.mode, reply.pid, duration_text(reply.uptime_s), endpoint,
      reply.run_dir, reply.processes, reply.sessions, reply.cpu_seconds,
      bytes_text(reply.resident_bytes));
  if (!reply.features.empty()) {
    Table table({{"FEATURE"}, {"STATE"}, {"WHY"}});
    for (const auto& feature : reply.features) {
      table.add({feature.name, feature.state, feature.reason});
    }
    out += "\n" + table.text(0);
  }
  if (!reply.collectors.empty()) {
    Table table({{"COLLECTOR OR SINK"},
                 {"TOOK", Align::right},
                 {"DONE", Align::right},
                 {"FAILED", Align::right},
                 {"LAST ERROR"}});
    for (const auto& each : reply.collectors) {
      table.add({each.name, fmt::format("{:.2f} ms", each.last_duration_s * 1000),
                 std::to_string(each.successes), std::to_string(each.failures), each.last_error});
    }
    out += "\n" + table.text(0);
  }
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
      {"PID", Align::right}, {"USER"}, {"JOB"}, {"RANK"}, {"GPU"}, {"TORCH"}, {"STATE"},
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
                                   row.holds_gpu ? "yes" : "-",
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

std::string render_plan(const rpc::PrepareReply& plan, int columns) {
  std::string out;
  if (!plan.planned.empty()) {
    Table table({{"RANK"}, {"PID", Align::right}, {"USER"}, {"JOB"}, {"READY-IN"}, {"FILE"}});
    for (const rpc::PlannedTrace& each : plan.planned) {
      const bool possible = each.problem.empty();
      table.add({rank_text(each.rank, each.world_size), std::to_string(each.pid),
                 or_dash(each.user), or_dash(each.job),
                 possible ? "~" + duration_text(each.expected_wait_s) : "-",
                 possible ? each.file : "(cannot be traced)"});
    }
    out += table.text(0);
  }
  std::map<std::string, std::vector<std::string>> sentences;
  for (const rpc::PlannedTrace& each : plan.planned) {
    if (!each.problem.empty()) {
      sentences["cannot be traced: " + each.problem].push_back(who(each.pid, each.rank));
    }
    for (const std::string& note : each.notes) {
      sentences["note: " + note].push_back(who(each.pid, each.rank));
    }
  }
  for (const auto& [sentence, whose] : sentences) {
    out += fmt::format("{}: {}\n", fmt::join(whose, "; "), sentence);
  }
  for (const rpc::SkippedProcess& each : plan.skipped) {
    out += fmt::format("skipped pid {} ({}): {}\n", each.pid,
                       columns > 0 ? short_command(each.command, kSkippedCommand) : each.command,
                       each.reason);
  }
  for (const std::string& each : plan.unmatched) out += fmt::format("not found: {}\n", each);
  if (!plan.coverage.empty()) out += plan.coverage + "\n";
  return out;
}

std::string render_update(const rpc::TraceUpdate& update) {
  std::string out = who(update.pid, update.rank) + ": ";
  if (is_good(update)) {
    out += "written: " + figures(update);
  } else if (says_state(update)) {
    out += update.sentence;
  } else {
    out += update.sentence.empty() ? update.state : update.state + ": " + sentence_of(update);
  }
  if (update.state == "written" && !update.file.empty()) out += ": " + update.file;
  return out;
}

std::string render_live(const TraceOutcome& outcome, std::size_t rows, std::size_t columns) {
  const std::vector<rpc::TraceUpdate>& updates = outcome.updates;
  const std::size_t room = std::max<std::size_t>(rows, 4) - 2;  // header and the line below
  std::vector<const rpc::TraceUpdate*> shown;
  for (const rpc::TraceUpdate& update : updates) shown.push_back(&update);
  std::size_t ended = 0;
  for (const auto* update : shown) ended += update->ended ? 1U : 0U;
  if (shown.size() > room) {
    std::ranges::stable_partition(shown, [](const auto* update) { return !update->ended; });
    shown.resize(room);
  }
  Table table({{"RANK"}, {"PID", Align::right}, {"STATE"}, {""}});
  for (const auto* update : shown) {
    table.add({rank_of(outcome, *update), std::to_string(update->pid), update->state,
               is_good(*update) ? figures(*update) : beyond_state(*update)});
  }
  std::string last = fmt::format("{} of {} at an end", ended, updates.size());
  if (shown.size() < updates.size()) {
    last += fmt::format(", {} not shown", updates.size() - shown.size());
  }
  return table.text(columns) + cut(last, columns) + "\n";
}

std::string cancel_text(const rpc::CancelReply& reply) {
  std::string text =
      fmt::format("withdrawn from {} process{} before {} took the request", reply.withdrawn,
                  reply.withdrawn == 1 ? "" : "es", reply.withdrawn == 1 ? "it" : "they");
  if (reply.withdrawn == 0) {
    text = reply.beyond_recall.empty()
               ? "nothing is left to cancel: every trace of the session is at its end"
               : "nothing could be withdrawn";
  }
  if (!reply.beyond_recall.empty()) {
    text += fmt::format(
        "; cannot be recalled, since the process has it already (it runs to its end, and its file "
        "may still appear): pid {}",
        fmt::join(reply.beyond_recall, ", "));
  }
  return text;
}

std::string render_summary(const TraceOutcome& outcome) {
  Table table({{"RANK"},
               {"PID", Align::right},
               {"STATE"},
               {"EVENTS", Align::right},
               {"SIZE", Align::right},
               {"FILE"}});
  std::string sentences;
  std::size_t good = 0;
  for (const rpc::TraceUpdate& update : outcome.updates) {
    table.add(summary_row(outcome, update));
    good += is_good(update) ? 1U : 0U;
    if (const std::string result = result_text(update); !result.empty()) {
      sentences += fmt::format("{}: {}\n", who(update.pid, update.rank), result);
    }
  }
  std::size_t asked = outcome.updates.size();
  for (const rpc::PlannedTrace& planned : outcome.planned) {
    const bool seen = std::ranges::any_of(
        outcome.updates, [&](const auto& update) { return update.pid == planned.pid; });
    if (seen) continue;
    ++asked;
    if (!planned.problem.empty()) {
      sentences += fmt::format("{}: cannot be traced: {}\n", who(planned.pid, planned.rank),
                               planned.problem);
    }
  }
  std::string last = fmt::format("{} of {} traces written and checked", good, asked);
  if (!outcome.unmatched.empty()) {
    last += fmt::format("; {} of those named not found", outcome.unmatched.size());
  }
  return (outcome.updates.empty() ? "" : table.text(0)) + sentences + last + "\n";
}

}  // namespace dynolog
