// The table of docs/dyno.md as code.
#include "cli/exit_code.h"

#include <algorithm>

namespace dynolog {
namespace {

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
    case ErrorKind::ambiguous:
      return ExitCode::usage;
    case ErrorKind::denied:
    case ErrorKind::not_identified:
      return ExitCode::refused;
    case ErrorKind::not_found:
      return ExitCode::nothing_matched;
    case ErrorKind::unavailable:
    case ErrorKind::failed:
    case ErrorKind::timed_out:
    case ErrorKind::exhausted:
      break;
  }
  return ExitCode::failed;
}

}  // namespace

ExitCode exit_code(CallFailureKind failure, ErrorKind kind) {
  switch (failure) {
    case CallFailureKind::no_daemon:
    case CallFailureKind::late:
      return ExitCode::no_daemon;
    case CallFailureKind::from_daemon:
      return exit_code(kind);
    case CallFailureKind::closed:
    case CallFailureKind::garbled:
    case CallFailureKind::interrupted:
      break;
  }
  return ExitCode::failed;
}

bool is_good(const rpc::TraceUpdate& update) {
  return update.state == "delivered" && update.checked && update.whole && update.ours;
}

bool is_unchecked(const rpc::TraceUpdate& update) {
  return update.ended && !update.checked &&
         (update.state == "delivered" || update.state == "written");
}

const rpc::PlannedTrace* plan_of(const TraceOutcome& outcome, std::int64_t pid) {
  const auto found = std::ranges::find(outcome.planned, pid, &rpc::PlannedTrace::pid);
  return found == outcome.planned.end() ? nullptr : &*found;
}

const Fetched* fetched_of(const TraceOutcome& outcome, std::int64_t pid) {
  const auto found = std::ranges::find(outcome.fetched, pid, &Fetched::pid);
  return found == outcome.fetched.end() ? nullptr : &*found;
}

ExitCode exit_code(const TraceOutcome& outcome) {
  if (outcome.interrupted) return ExitCode::failed;
  if (outcome.updates.empty() && outcome.planned.empty()) return ExitCode::nothing_matched;
  bool failed = !outcome.unmatched.empty();
  failed |= outcome.updates.empty() && !outcome.deadline_passed;
  bool late = outcome.updates.empty() && outcome.deadline_passed;
  bool unchecked = false;
  for (const rpc::PlannedTrace& planned : outcome.planned) failed |= !planned.problem.empty();
  for (const rpc::TraceUpdate& update : outcome.updates) {
    const Fetched* fetched = fetched_of(outcome, update.pid);
    if (fetched != nullptr && fetched->state == Fetched::State::failed) {
      (outcome.deadline_passed ? late : failed) = true;
    } else if (is_unchecked(update)) {
      unchecked |= outcome.check_wanted;
    } else if (!is_good(update)) {
      const bool in_time =
          !outcome.deadline_passed || (update.ended && update.state != "timed_out");
      (in_time ? failed : late) = true;
    }
  }
  // The worst first: what failed needs another remedy than more time.
  if (failed) return ExitCode::failed;
  if (late) return ExitCode::deadline;
  return unchecked ? ExitCode::unchecked : ExitCode::ok;
}

}  // namespace dynolog
