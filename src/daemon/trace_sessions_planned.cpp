// What a caller is shown of the plan: each process with its file, its notes and its expected wait.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/path_template.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"
#include "processes/selection.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kDefaultPeriod = std::chrono::seconds(5);
// Kineto's run loop ticks once a second, and a small trace takes about as long to write.
constexpr double kWriting_s = 1.5;

double seconds(Nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

Nanoseconds period_of(const ProcessEntry* entry) {
  return entry != nullptr && entry->poll_period ? *entry->poll_period : kDefaultPeriod;
}

}  // namespace

rpc::SkippedProcess TraceSessions::skipped_row(const Skipped& skipped) const {
  rpc::SkippedProcess row;
  row.pid = skipped.pid.value;
  row.role = to_string(skipped.role);
  row.reason = skipped.reason;
  const ProcessEntry* entry = world_.registry.table().find(skipped.pid);
  if (entry == nullptr || !entry->facts) return row;
  row.rank = entry->facts->job.rank;
  row.command = entry->facts->command;
  return row;
}

// A start that is named has to leave each process the time to ask for it and to warm up.
std::optional<Error> TraceSessions::too_soon(const std::vector<PlanItem>& items,
                                             Nanoseconds start_in) const {
  const PlanItem* slowest = nullptr;
  Nanoseconds most{};
  for (const PlanItem& item : items) {
    if (!item.problem.empty()) continue;
    const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
    const Nanoseconds needed = period_of(entry) + item.request.warmup + kStartMargin;
    if (slowest != nullptr && needed <= most) continue;
    slowest = &item;
    most = needed;
  }
  if (slowest == nullptr || start_in >= most) return std::nullopt;
  const ProcessEntry* entry = world_.registry.table().find(slowest->key.pid);
  return Error{
      ErrorKind::invalid,
      fmt::format(
          "--start-in {:.1f}: too soon; process {} asks every {:.1f} s, warms up for {:.1f} "
          "s and needs {:.1f} s more: give at least {:.1f}",
          seconds(start_in), slowest->key.pid.value, seconds(period_of(entry)),
          seconds(slowest->request.warmup), seconds(kStartMargin),
          std::ceil(seconds(most) * 10) / 10)};
}

void TraceSessions::show_expected_wait(const Live& live, const PlanItem& item,
                                       rpc::PlannedTrace& row) const {
  const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
  const Nanoseconds age =
      entry != nullptr ? world_.clock.monotonic() - entry->last_poll : Nanoseconds(0);
  const Nanoseconds poll = std::max(Nanoseconds(0), period_of(entry) - age);
  row.poll_s = seconds(poll);
  row.warmup_s = seconds(item.request.warmup);
  row.window_s = seconds(item.request.window);
  Nanoseconds until_start = poll + item.request.start_lead.value_or(item.request.warmup);
  if (live.start_in) until_start = *live.start_in;
  if (item.request.asked_start) until_start = *item.request.asked_start - world_.clock.wall();
  row.expected_wait_s = seconds(until_start + item.request.window) + kWriting_s;
}

rpc::PlannedTrace TraceSessions::planned_row(const Live& live, const PlanItem& item) const {
  rpc::PlannedTrace row;
  row.pid = item.key.pid.value;
  row.user = world_.registry.user_name(item.tenant.uid);
  row.brought = item.request.place.brought();
  row.file = item.request.place.target;
  if (live.facts.gzip && !item.request.place.in_place && !row.file.empty()) {
    row.file = with_gz(std::move(row.file));
  }
  row.notes = item.notes;
  row.problem = item.problem;
  if (!item.files_unknown.empty()) {
    row.notes.push_back("the file cannot be checked: " + item.files_unknown);
  }
  const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
  if (entry != nullptr &&
      dynolog::state_of(*entry, world_.clock.monotonic()) == ProcessState::stalled) {
    row.notes.push_back("stalled: it is traced if it wakes up");
  }
  const TracedProcess& process = live.process(item.key.pid);
  row.namespace_pid = process.namespace_pid;
  row.rank = process.rank;
  row.local_rank = process.local_rank;
  row.world_size = process.world_size;
  row.command = process.command;
  row.job = process.job;
  row.torch_version = process.torch_version;
  row.gpus = process.gpus;
  if (item.problem.empty()) show_expected_wait(live, item, row);
  return row;
}

}  // namespace dynolog
