// Texts were cleaned when they were decoded. No path is shown as a result that nobody has seen.
#include "cli/render_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/grouped.h"
#include "cli/hint.h"
#include "cli/render.h"
#include "cli/table.h"

namespace dynolog {
namespace {

using Align = Table::Align;

constexpr std::size_t kSkippedCommand = 48;
constexpr std::size_t kMostReasons = 5;

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

bool is_checked_well(const rpc::TraceUpdate& update) {
  return update.checked && update.whole && update.ours && update.problem.empty();
}

// "12.3 MB of 40.0 MB, 8.1 MB/s"
std::string rate_text(const Fetched& fetched) {
  std::string text = bytes_text(fetched.have);
  if (fetched.total > 0) text += " of " + bytes_text(fetched.total);
  if (fetched.seconds < 0.1) return text;
  const double rate = static_cast<double>(fetched.have) / fetched.seconds;
  return fmt::format("{}, {}/s", text, bytes_text(static_cast<std::uint64_t>(rate)));
}

std::string goes_to(const rpc::PlannedTrace& planned, const PlanView& view) {
  if (!planned.problem.empty()) return "(cannot be traced)";
  if (!planned.brought) return planned.file;
  if (!view.waits) return "(kept by the daemon)";
  const auto place = view.brought_to.find(planned.pid);
  return place == view.brought_to.end() || place->second.empty() ? "(brought here)" : place->second;
}

std::string plan_table(const rpc::PrepareReply& plan, const PlanView& view) {
  const bool gpus =
      std::ranges::any_of(plan.planned, [](const auto& p) { return !p.gpus.empty(); });
  std::vector<Table::Column> columns{{"RANK"}, {"PID", Align::right}, {"USER"}, {"JOB"}};
  if (gpus) columns.push_back({"GPU"});
  columns.insert(columns.end(), {{"READY-IN"}, {"GOES TO"}});
  Table table(std::move(columns));
  for (const rpc::PlannedTrace& each : plan.planned) {
    std::vector<std::string> cells{rank_text(each.rank, each.world_size), std::to_string(each.pid),
                                   or_dash(each.user), or_dash(each.job)};
    if (gpus) cells.push_back(or_dash(fmt::format("{}", fmt::join(each.gpus, ","))));
    cells.push_back(each.problem.empty() ? "~" + duration_text(each.expected_wait_s) : "-");
    cells.push_back(goes_to(each, view));
    table.add(std::move(cells));
  }
  return table.text(0);
}

// What the wait of the slowest is made of.
std::string wait_text(const rpc::PrepareReply& plan, const PlanView& view) {
  const rpc::PlannedTrace* slowest = nullptr;
  for (const rpc::PlannedTrace& each : plan.planned) {
    if (!each.problem.empty()) continue;
    if (slowest == nullptr || each.expected_wait_s > slowest->expected_wait_s) slowest = &each;
  }
  if (slowest == nullptr) return "";
  const std::string window = view.iterations > 0 ? fmt::format("{} steps", view.iterations)
                                                 : duration_text(slowest->window_s) + " of window";
  return fmt::format(
      "ready in about {}: up to {} until the process asks, {} of warm-up, {}; the rest is for the "
      "start and the writing\n",
      duration_text(slowest->expected_wait_s), duration_text(slowest->poll_s),
      duration_text(slowest->warmup_s), window);
}

}  // namespace

std::string rank_of(const TraceOutcome& outcome, const rpc::TraceUpdate& update) {
  const rpc::PlannedTrace* planned = plan_of(outcome, update.pid);
  return rank_text(update.rank, planned == nullptr ? std::nullopt : planned->world_size);
}

std::uint64_t file_bytes(const rpc::TraceUpdate& update, const Fetched* fetched) {
  if (fetched != nullptr && fetched->state == Fetched::State::saved) return fetched->stored;
  return update.summary ? update.summary->file_bytes : 0;
}

std::string figures_text(const rpc::TraceUpdate& update, const Fetched* fetched) {
  const std::string bytes = bytes_text(file_bytes(update, fetched));
  if (!update.summary || update.file.ends_with(".pickle")) return bytes;
  return fmt::format("{} events, {}", update.summary->events, bytes);
}

std::string render_plan(const rpc::PrepareReply& plan, const PlanView& view) {
  std::string out;
  if (!plan.planned.empty()) out += plan_table(plan, view) + wait_text(plan, view);
  Grouped sentences;
  for (const rpc::PlannedTrace& each : plan.planned) {
    const std::string who = process_text(each.pid, each.rank);
    if (!each.problem.empty() && !view.summary_follows) {
      sentences.add("cannot be traced: " + each.problem, who);
    }
    for (const std::string& note : each.notes) sentences.add("note: " + note, who);
  }
  out += sentences.text();
  for (const rpc::SkippedProcess& each : plan.skipped) {
    const std::string command =
        view.columns > 0 ? short_command(each.command, kSkippedCommand) : each.command;
    out += fmt::format("skipped {} ({}): {}\n", process_text(each.pid, each.rank), command,
                       each.reason);
  }
  for (const std::string& each : plan.unmatched) out += fmt::format("not found: {}\n", each);
  if (!plan.coverage.empty()) out += plan.coverage + "\n";
  return out;
}

std::string render_update(const rpc::TraceUpdate& update, const Fetched* fetched) {
  const std::string who = process_text(update.pid, update.rank) + ": ";
  if (fetched != nullptr && fetched->state == Fetched::State::failed) {
    return who + "not brought: " + fetched->problem;
  }
  if (fetched != nullptr && fetched->state == Fetched::State::running) {
    return who + "fetching: " + rate_text(*fetched);
  }
  const bool there = update.state == "written" || update.state == "delivered";
  if (there && is_checked_well(update)) {
    const std::string figures =
        (update.location == "daemon" ? "kept by the daemon" : update.state) + ": " +
        figures_text(update, fetched);
    const bool seen =
        update.state == "delivered" && !update.file.empty() && update.location != "daemon";
    return who + figures + (seen ? ": " + update.file : "");
  }
  if (update.sentence.empty()) return who + update.state;
  return who + (says_state(update) ? update.sentence : update.state + ": " + sentence_of(update));
}

namespace {

std::string live_state(const rpc::TraceUpdate& update, const Fetched* fetched) {
  if (fetched == nullptr) return update.state;
  if (fetched->state == Fetched::State::running) return "fetching";
  return fetched->state == Fetched::State::failed ? "not brought" : update.state;
}

std::string live_text(const rpc::TraceUpdate& update, const Fetched* fetched) {
  if (fetched != nullptr && fetched->state == Fetched::State::running) return rate_text(*fetched);
  if (fetched != nullptr && fetched->state == Fetched::State::failed) return fetched->problem;
  const bool there = update.state == "written" || update.state == "delivered";
  return there && is_checked_well(update) ? figures_text(update, fetched) : beyond_state(update);
}

}  // namespace

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
    const Fetched* fetched = fetched_of(outcome, update->pid);
    table.add({rank_of(outcome, *update), std::to_string(update->pid), live_state(*update, fetched),
               live_text(*update, fetched)});
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

std::string render_reasons(const std::vector<rpc::Finding>& findings, const GlobalOptions& global) {
  Grouped sentences;
  std::size_t more = 0;
  for (const std::string_view level : {"broken", "warning"}) {
    for (const rpc::Finding& each : findings) {
      if (each.level != level) continue;
      const std::string sentence =
          fmt::format("{}: {}{}", level, each.what, each.fix.empty() ? "" : " -> " + each.fix);
      if (!sentences.holds(sentence) && sentences.size() == kMostReasons) {
        ++more;
        continue;
      }
      sentences.add(sentence, each.pid == 0 ? "" : process_text(each.pid, each.rank));
    }
  }
  if (sentences.size() == 0) return "";
  return sentences.text() + fmt::format("`{}` says {}\n", same_daemon(global, "doctor"),
                                        more > 0
                                            ? fmt::format("{} more, and why each matters", more)
                                            : "why each matters");
}

}  // namespace dynolog
