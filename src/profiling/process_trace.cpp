// The state machine of one process's trace.
#include "profiling/process_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dynolog {
namespace {

// The poll that fetched it is reported beside the hand-over, and is not a later one.
constexpr Nanoseconds kSamePoll = Milliseconds(250);
// Kineto's loop ticks once a second: the warm-up may begin that much early.
constexpr Nanoseconds kEarly = Milliseconds(1500);
// An idle poll this soon after the first sign may have been under way before it.
constexpr Nanoseconds kCrossing = Milliseconds(500);

struct StateName {
  TraceState state;
  std::string_view name;
};
constexpr std::array<StateName, 11> kStates = {{
    {TraceState::staged, "staged"},
    {TraceState::fetched, "fetched"},
    {TraceState::warming_up, "warming_up"},
    {TraceState::tracing, "tracing"},
    {TraceState::writing, "writing"},
    {TraceState::written, "written"},
    {TraceState::rejected, "rejected"},
    {TraceState::busy, "busy"},
    {TraceState::cancelled, "cancelled"},
    {TraceState::lost, "lost"},
    {TraceState::timed_out, "timed_out"},
}};

std::string_view phase_sentence(TraceState state) {
  switch (state) {
    case TraceState::warming_up:
      return "accepted by the process: warming up";
    case TraceState::tracing:
      return "tracing";
    default:
      return "the window is over: the process writes the file";
  }
}

std::string file_sentence(const FileCheck& check) {
  if (!check.checked) return "written, but not checked: " + check.problem;
  if (!check.problem.empty()) return "written, but " + check.problem;
  constexpr double kMega = 1e6;
  return fmt::format("written: {} events, {:.1f} MB", check.events,
                     static_cast<double>(check.bytes) / kMega);
}

}  // namespace

std::string_view to_string(TraceState state) {
  return std::ranges::find(kStates, state, &StateName::state)->name;
}

std::optional<TraceState> trace_state_from(std::string_view name) {
  const auto* const found = std::ranges::find(kStates, name, &StateName::name);
  if (found == kStates.end()) return std::nullopt;
  return found->state;
}

bool is_end(TraceState state) { return state >= TraceState::written; }

ProcessTrace::ProcessTrace(ProcessKey key, TraceRequest request, MonotonicTime staged_at,
                           Timeouts timeouts)
    : key_(key),
      request_(std::move(request)),
      timeouts_(timeouts),
      sentence_("waits for the process to ask for it"),
      staged_at_(staged_at) {}

bool ProcessTrace::on_poll_busy_before_hand_over(MonotonicTime /*now*/) {
  if (!open() || handed_over_at_) return false;
  return enter(TraceState::busy,
               "busy: its own torch.profiler or another trace is running; try again when it has "
               "ended");
}

bool ProcessTrace::on_handed_over(MonotonicTime now, WallTime wall, std::optional<WallTime> start) {
  if (!open() || handed_over_at_) return false;
  handed_over_at_ = now;
  handed_over_wall_ = wall;
  if (request_.iterations == 0) {
    start_named_ = start.has_value();
    start_ = start ? now + (*start - wall) : now + request_.warmup + request_.default_lead;
  }
  sentence_ = "sent in answer to the process's poll; not yet read";
  return true;
}

bool ProcessTrace::on_receipt(MonotonicTime now) {
  if (!open() || !handed_over_at_ || receipt_at_) return false;
  const TraceState before = state_;
  receipt_at_ = now;
  idle_polls_ = 0;
  if (start_ && !start_named_ && !evidence_at_)
    start_ = now + request_.warmup + request_.default_lead;
  if (state_ == TraceState::staged) {
    enter(TraceState::fetched, start_ ? "read by the process; waits for its start"
                                      : "read by the process; waits for its iteration");
  }
  return settle(now, before);
}

bool ProcessTrace::on_not_read(MonotonicTime now) {
  if (!open() || !handed_over_at_ || receipt_at_) return false;
  const TraceState before = state_;
  if (state_ == TraceState::staged) {
    sentence_ = "sent, but not read in time; the process may still read it at its next poll";
  }
  return settle(now, before);
}

bool ProcessTrace::on_identity_changed(MonotonicTime /*now*/) {
  if (!open() || handed_over_at_) return false;
  return enter(
      TraceState::rejected,
      "not handed over: the process's user or start time is no longer what it was when the "
      "trace was asked for; ask again");
}

bool ProcessTrace::on_refused(MonotonicTime /*now*/, std::string why) {
  if (!open() || handed_over_at_) return false;
  return enter(TraceState::rejected, "not handed over: " + std::move(why));
}

bool ProcessTrace::on_poll(MonotonicTime now, bool idle) {
  if (!open() || !handed_over_at_ || process_ended_at_) return false;
  if (now < *handed_over_at_ + kSamePoll) return false;
  const TraceState before = state_;
  if (request_.memory_snapshot) return settle(now, before);  // another thread: the bit says nothing
  if (!idle) {
    if (busy_is_ours(now)) {
      busy_seen_ = true;
      note_evidence(now);
    }
  } else if (!evidence_at_) {
    ++idle_polls_;
    last_idle_poll_ = now;
  } else if (!idle_since_ && now >= *evidence_at_ + kCrossing) {
    idle_since_ = now;
  }
  return settle(now, before);
}

bool ProcessTrace::busy_is_ours(MonotonicTime now) const {
  // Busy long before our warm-up is due: that is somebody else's trace.
  if (start_) return now >= *start_ - request_.warmup - kEarly;
  // While an iteration is waited for, another trace may run; the file tells them apart.
  return files_unknown_ || temporary_seen_;
}

bool ProcessTrace::on_temporary_file(MonotonicTime now) {
  if (!open() || !handed_over_at_ || temporary_seen_) return false;
  const TraceState before = state_;
  temporary_seen_ = true;
  note_evidence(now);
  return settle(now, before);
}

bool ProcessTrace::on_renamed(MonotonicTime now) {
  if (!open() || !handed_over_at_ || renamed_) return false;
  const TraceState before = state_;
  renamed_ = true;
  note_evidence(now);
  sentence_ = "the file is there and is being checked";
  return settle(now, before);
}

bool ProcessTrace::on_file(MonotonicTime /*now*/, FileCheck check) {
  if (!open() || !handed_over_at_) return false;
  check_ = std::move(check);
  if (check_.problem.empty()) {
    if (!check_.checked) {
      check_.problem = "nobody could read it";
    } else if (!check_.whole) {
      check_.problem = "the file is not whole";
    } else if (!check_.ours) {
      check_.problem = "the file does not carry this trace's id";
    }
  }
  return enter(TraceState::written, file_sentence(check_));
}

bool ProcessTrace::on_files_unknown(MonotonicTime now, std::string why) {
  if (!open()) return false;
  const TraceState before = state_;
  files_unknown_ = true;
  files_unknown_why_ = std::move(why);
  return settle(now, before);
}

bool ProcessTrace::on_process_end(MonotonicTime now) {
  if (!open() || process_ended_at_) return false;
  if (!handed_over_at_) {
    return enter(TraceState::lost, "the process ended before it fetched the request");
  }
  if (!evidence_at_) {
    return enter(TraceState::lost, "the process ended before its trace began");
  }
  const TraceState before = state_;
  process_ended_at_ = now;
  return settle(now, before);
}

bool ProcessTrace::on_cancel(MonotonicTime /*now*/, bool withdrawn) {
  if (!open()) return false;
  if (withdrawn && !handed_over_at_) {
    return enter(TraceState::cancelled, "cancelled before the process fetched it");
  }
  if (handed_over_at_) {
    sentence_ =
        fmt::format("cannot be recalled, the process has it: runs on and writes {}", request_.file);
  }
  return false;
}

bool ProcessTrace::on_deadline(MonotonicTime /*now*/) {
  if (!open()) return false;
  if (!handed_over_at_) {
    return enter(TraceState::timed_out, "the deadline passed before the process asked for it");
  }
  return enter(TraceState::timed_out,
               fmt::format("the deadline passed while it was {}; the process goes on, and may yet "
                           "write {}",
                           to_string(state_), request_.file));
}

bool ProcessTrace::on_time(MonotonicTime now) {
  if (!open()) return false;
  return settle(now, state_);
}

bool ProcessTrace::beyond_recall() const { return open() && handed_over_at_.has_value(); }

bool ProcessTrace::may_still_write() const {
  const bool given_up = state_ == TraceState::timed_out || state_ == TraceState::rejected;
  return handed_over_at_.has_value() && (open() || given_up);
}

bool ProcessTrace::enter(TraceState state, std::string sentence) {
  const bool changed = state != state_;
  state_ = state;
  sentence_ = std::move(sentence);
  return changed;
}

void ProcessTrace::note_evidence(MonotonicTime now) {
  if (!evidence_at_) evidence_at_ = now;
  advance(now);
}

// Forward only: what a late message says of an earlier phase is past.
void ProcessTrace::advance(MonotonicTime now) {
  const TraceState phase = phase_at(now);
  if (phase > state_) enter(phase, std::string(phase_sentence(phase)));
}

TraceState ProcessTrace::phase_at(MonotonicTime now) const {
  if (renamed_) return TraceState::writing;
  if (!start_) return TraceState::tracing;
  if (now < *start_) return TraceState::warming_up;
  return now < *start_ + request_.window ? TraceState::tracing : TraceState::writing;
}

bool ProcessTrace::settle(MonotonicTime now, TraceState before) {
  for (auto due = first_due(); due && due->at <= now; due = first_due()) apply(*due);
  return state_ != before;
}

}  // namespace dynolog
