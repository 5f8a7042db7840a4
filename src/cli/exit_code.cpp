// The table of docs/dyno.md as code.
#include "cli/exit_code.h"

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
  return update.state == "written" && update.checked && update.whole && update.ours;
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
    if (is_good(update)) continue;
    if (update.state == "written" && !update.checked) {
      unchecked = true;
    } else if (outcome.deadline_passed && (update.state == "timed_out" || !update.ended)) {
      late = true;
    } else {
      failed = true;
    }
  }
  // The worst first: what failed needs another remedy than more time.
  if (failed) return ExitCode::failed;
  if (late) return ExitCode::deadline;
  return unchecked ? ExitCode::unchecked : ExitCode::ok;
}

}  // namespace dynolog
