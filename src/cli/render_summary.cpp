// Figures come from the traces' own summaries; a path is shown where somebody has seen the file.
#include "cli/render_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/grouped.h"
#include "cli/render.h"
#include "cli/render_trace.h"
#include "cli/table.h"
#include "traces/nothing_ran.h"

namespace dynolog {
namespace {

using Align = Table::Align;

constexpr std::size_t kMostHot = 5;

// All GPUs of one process.
struct GpuShares {
  double window_s = 0;
  double busy_s = 0;
  double communication_s = 0;
  double idle_s = 0;
  double longest_gap_s = 0;
};

std::optional<GpuShares> shares_of(const rpc::TraceUpdate& update) {
  if (!update.summary || update.summary->gpus.empty()) return std::nullopt;
  GpuShares shares;
  for (const GpuTime& gpu : update.summary->gpus) {
    shares.window_s += gpu.window_s;
    shares.busy_s += gpu.busy_s;
    shares.communication_s += gpu.communication_s;
    shares.idle_s += gpu.idle_s;
    shares.longest_gap_s = std::max(shares.longest_gap_s, gpu.longest_gap_s);
  }
  return shares;
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "-";
}

std::string short_time(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::optional<double> window_got(const TraceSummary& summary) {
  const bool told = summary.window_start_ns && summary.window_end_ns;
  const auto from = told ? summary.window_start_ns : summary.first_ns;
  const auto to = told ? summary.window_end_ns : summary.last_ns;
  if (!from || !to || *to < *from) return std::nullopt;
  return (static_cast<double>(*to) - static_cast<double>(*from)) / 1e9;
}

// What was got of what was asked for.
std::string window_text(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  if (!update.summary) return "-";
  const auto got = window_got(*update.summary);
  if (!got) return "-";
  if (outcome.iterations > 0) {
    const std::uint64_t steps = update.summary->steps;
    return steps == 0 ? fmt::format("{:.2f} s", *got)
                      : fmt::format("{}/{} steps, {:.2f} s", steps, outcome.iterations, *got);
  }
  const rpc::PlannedTrace* planned = plan_of(outcome, update.pid);
  return planned == nullptr ? fmt::format("{:.2f} s", *got)
                            : fmt::format("{:.2f}/{:.2f} s", *got, planned->window_s);
}

bool is_there(const rpc::TraceUpdate& update) {
  return update.state == "delivered" || update.state == "written" || update.state == "undelivered";
}

std::string file_text(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  if (update.location == "daemon") return "(kept by the daemon)";
  if (update.location == "removed") return "(removed)";
  if (!is_there(update) || update.file.empty()) return "-";
  const Fetched* fetched = fetched_of(outcome, update.pid);
  if (fetched != nullptr) return fetched->state == Fetched::State::saved ? update.file : "-";
  if (update.location == "caller") return update.file + " (brought there by dyno)";
  if (!outcome.elsewhere.empty()) return outcome.elsewhere + ":" + update.file;
  return outcome.out_of_sight.contains(update.pid) ? update.file + " (as the process sees it)"
                                                   : update.file;
}

std::string state_text(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  const Fetched* fetched = fetched_of(outcome, update.pid);
  const bool failed = fetched != nullptr && fetched->state == Fetched::State::failed;
  return failed ? "not brought" : update.state;
}

std::vector<std::string> summary_row(const TraceOutcome& outcome, const rpc::TraceUpdate& update,
                                     bool with_gpus) {
  const Fetched* fetched = fetched_of(outcome, update.pid);
  const bool trace = update.summary && !update.file.ends_with(".pickle");
  const std::uint64_t bytes = file_bytes(update, fetched);
  std::vector<std::string> cells{rank_of(outcome, update),
                                 std::to_string(update.pid),
                                 state_text(outcome, update),
                                 trace ? std::to_string(update.summary->events) : "-",
                                 bytes > 0 || update.summary ? bytes_text(bytes) : "-",
                                 window_text(outcome, update)};
  if (with_gpus) {
    const auto shares = shares_of(update);
    cells.push_back(shares ? percent(shares->busy_s, shares->window_s) : "-");
    cells.push_back(shares ? percent(shares->communication_s, shares->window_s) : "-");
    cells.push_back(shares ? percent(shares->idle_s, shares->window_s) : "-");
    cells.push_back(shares ? short_time(shares->longest_gap_s) : "-");
  }
  cells.push_back(file_text(outcome, update));
  return cells;
}

std::string summary_table(const TraceOutcome& outcome) {
  const bool gpus = std::ranges::any_of(
      outcome.updates, [](const auto& update) { return shares_of(update).has_value(); });
  std::vector<Table::Column> columns{{"RANK"},
                                     {"PID", Align::right},
                                     {"STATE"},
                                     {"EVENTS", Align::right},
                                     {"SIZE", Align::right},
                                     {"WINDOW", Align::right}};
  if (gpus) {
    for (const char* name : {"GPU-BUSY", "COMM", "IDLE", "LONGEST-GAP"}) {
      columns.push_back({name, Align::right});
    }
  }
  columns.push_back({"FILE"});
  Table table(std::move(columns));
  for (const rpc::TraceUpdate& update : outcome.updates) {
    table.add(summary_row(outcome, update, gpus));
  }
  return table.text(0);
}

// Why it is not as it should be, or "".
std::string result_text(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  const Fetched* fetched = fetched_of(outcome, update.pid);
  if (fetched != nullptr && fetched->state == Fetched::State::failed) {
    return "not brought: " + fetched->problem;
  }
  if (is_good(update)) return "";
  if (is_unchecked(update)) {
    if (!outcome.check_wanted) return "";
    return update.sentence.empty() ? "nobody could check the file" : update.sentence;
  }
  if (update.state != "delivered") return update.sentence;
  if (!update.problem.empty()) return update.problem;
  return update.whole ? "the file is not of this session" : "the file is not whole";
}

void add_findings(const TraceOutcome& outcome, const rpc::TraceUpdate& update, Grouped& sentences) {
  const std::string who = process_text(update.pid, update.rank);
  for (const std::string& note : update.notes) {
    sentences.add((note == kNothingRan ? "warning: " : "note: ") + note, who);
  }
  if (const Fetched* fetched = fetched_of(outcome, update.pid)) {
    for (const std::string& note : fetched->notes) sentences.add("note: " + note, who);
  }
  if (!update.summary) return;
  // In the daemon's words, since it says the same in its notes where it looked itself.
  const TraceSummary& summary = *update.summary;
  if (nothing_ran(summary)) sentences.add(fmt::format("warning: {}", kNothingRan), who);
  if (!summary.truncation.empty()) sentences.add("note: " + summary.truncation, who);
  for (const std::string& each : summary.warnings) {
    sentences.add("note: the client warns: " + each, who);
  }
  if (!summary.approximation.empty()) {
    sentences.add("note: some figures are approximate: " + summary.approximation, who);
  }
}

std::string hot_table(const std::vector<NameTime>& names, const char* what, std::size_t width) {
  if (names.empty()) return "";
  Table table({{"SELF", Align::right}, {"COUNT", Align::right}, {what}});
  for (const NameTime& each : names) {
    table.add({short_time(each.self_s), std::to_string(each.count), each.name});
  }
  return table.text(width);
}

std::string hot_text(const TraceOutcome& outcome, int columns) {
  const Hottest hot = hottest(outcome);
  if (hot.kernels.empty() && hot.operators.empty()) return "";
  const auto width = static_cast<std::size_t>(std::max(columns, 0));
  const std::string of =
      hot.of.size() == 1
          ? "in " + hot.of.front()
          : fmt::format("summed over {} traces (of each its own first five)", hot.of.size());
  return fmt::format("\nmost time of their own, {}:\n", of) +
         hot_table(hot.kernels, "KERNEL", width) + hot_table(hot.operators, "OPERATOR", width) +
         "\n";
}

using Sums = std::map<std::string, NameTime>;

void add_to(Sums& sums, const std::vector<NameTime>& names) {
  for (const NameTime& each : names) {
    NameTime& sum = sums[each.name];
    sum.name = each.name;
    sum.self_s += each.self_s;
    sum.count += each.count;
  }
}

std::vector<NameTime> first_of(const Sums& sums) {
  std::vector<NameTime> names;
  for (const auto& [name, sum] : sums) names.push_back(sum);
  std::ranges::stable_sort(names, std::greater<>(), &NameTime::self_s);
  names.resize(std::min(names.size(), kMostHot));
  return names;
}

}  // namespace

Hottest hottest(const TraceOutcome& outcome) {
  Hottest hot;
  Sums kernels;
  Sums operators;
  for (const rpc::TraceUpdate& update : outcome.updates) {
    if (!update.summary || !update.ours) continue;
    const TraceSummary& summary = *update.summary;
    if (summary.top_kernels.empty() && summary.top_operators.empty()) continue;
    hot.of.push_back(process_text(update.pid, update.rank));
    add_to(kernels, summary.top_kernels);
    add_to(operators, summary.top_operators);
  }
  hot.kernels = first_of(kernels);
  hot.operators = first_of(operators);
  return hot;
}

std::string render_summary(const TraceOutcome& outcome, int columns) {
  Grouped sentences;
  std::size_t good = 0;
  std::size_t empty = 0;
  for (const rpc::TraceUpdate& update : outcome.updates) {
    good += is_good(update) || (!outcome.check_wanted && is_unchecked(update)) ? 1U : 0U;
    empty += is_good(update) && update.summary && nothing_ran(*update.summary) ? 1U : 0U;
    if (const std::string result = result_text(outcome, update); !result.empty()) {
      sentences.add(result, process_text(update.pid, update.rank));
    }
    add_findings(outcome, update, sentences);
  }
  std::size_t asked = outcome.updates.size();
  for (const rpc::PlannedTrace& planned : outcome.planned) {
    const bool seen = std::ranges::any_of(
        outcome.updates, [&](const auto& update) { return update.pid == planned.pid; });
    if (seen) continue;
    ++asked;
    if (!planned.problem.empty()) {
      sentences.add("cannot be traced: " + planned.problem,
                    process_text(planned.pid, planned.rank));
    }
  }
  std::string last = fmt::format("{} of {} traces delivered{}", good, asked,
                                 outcome.check_wanted ? " and checked" : "");
  if (empty > 0) last += fmt::format("; {} of them {} empty", empty, empty == 1 ? "is" : "are");
  if (!outcome.unmatched.empty()) {
    last += fmt::format("; {} of those named not found", outcome.unmatched.size());
  }
  return (outcome.updates.empty() ? "" : summary_table(outcome)) + sentences.text() +
         hot_text(outcome, columns) + last + "\n";
}

}  // namespace dynolog
