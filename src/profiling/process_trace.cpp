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
// Polls and the news of files come on ways of their own: after a stop of the daemon (SIGSTOP, a
// starved or suspended host) all that waited comes at once, in no order. This long the other way is
// listened to before anything is judged. A timer that comes late by more is what a stop looks like.
constexpr Nanoseconds kNews = std::chrono::seconds(1);

struct StateName {
  TraceState state;
  std::string_view name;
};
constexpr std::array<StateName, 13> kStates = {{
    {TraceState::staged, "staged"},
    {TraceState::fetched, "fetched"},
    {TraceState::warming_up, "warming_up"},
    {TraceState::tracing, "tracing"},
    {TraceState::writing, "writing"},
    {TraceState::written, "written"},
    {TraceState::delivered, "delivered"},
    {TraceState::undelivered, "undelivered"},
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

constexpr std::string_view kBusyBefore =
    "busy: its own torch.profiler or another trace is running; try again when it has ended";
constexpr std::string_view kIdentityChanged =
    "not handed over: the process's user or start time is no longer what it was when the trace was "
    "asked for; ask again";

// "5800 events, 1.4 MB", and what is wrong with it.
std::string content_text(const FileCheck& check, bool snapshot) {
  if (!check.checked) return "not checked: " + check.problem;
  constexpr double kMega = 1e6;
  std::string text =
      fmt::format("{:.1f} MB", static_cast<double>(check.summary.file_bytes) / kMega);
  if (!snapshot) text = fmt::format("{} events, {}", check.summary.events, text);
  return check.problem.empty() ? text : text + ", but " + check.problem;
}

std::string delivery_text(const TraceDelivery& delivery) {
  switch (delivery.location) {
    case TraceDelivery::Location::caller:
      return "brought to the caller" + (delivery.path.empty() ? "" : ": " + delivery.path);
    case TraceDelivery::Location::daemon:
      return "kept by the daemon until somebody fetches it";
    case TraceDelivery::Location::host:
      break;
  }
  return "delivered" + (delivery.path.empty() ? "" : ": " + delivery.path);
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

bool is_end(TraceState state) { return state > TraceState::written; }

std::string_view to_string(TraceDelivery::Location location) {
  switch (location) {
    case TraceDelivery::Location::host:
      return "host";
    case TraceDelivery::Location::caller:
      return "caller";
    case TraceDelivery::Location::daemon:
      return "daemon";
  }
  return "";
}

std::optional<TraceDelivery::Location> trace_location_from(std::string_view name) {
  using enum TraceDelivery::Location;
  for (const auto location : {host, caller, daemon}) {
    if (to_string(location) == name) return location;
  }
  return std::nullopt;
}

ProcessTrace::ProcessTrace(ProcessKey key, TraceRequest request, MonotonicTime staged_at,
                           Timeouts timeouts)
    : key_(key),
      request_(std::move(request)),
      timeouts_(timeouts),
      sentence_("waits for the process to ask for it"),
      staged_at_(staged_at) {}

bool ProcessTrace::on_poll_busy_before_hand_over(MonotonicTime /*now*/) {
  if (!under_way() || handed_over_at_) return false;
  return enter(TraceState::busy, std::string(kBusyBefore));
}

bool ProcessTrace::on_handed_over(MonotonicTime now, WallTime wall, std::optional<WallTime> start) {
  if (!under_way() || handed_over_at_) return false;
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
  if (!under_way() || !handed_over_at_ || receipt_at_) return false;
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
  if (!under_way() || !handed_over_at_ || receipt_at_) return false;
  const TraceState before = state_;
  if (state_ == TraceState::staged) {
    sentence_ = "sent, but not read in time; the process may still read it at its next poll";
  }
  return settle(now, before);
}

bool ProcessTrace::on_identity_changed(MonotonicTime /*now*/) {
  if (!under_way() || handed_over_at_) return false;
  return enter(TraceState::rejected, std::string(kIdentityChanged));
}

bool ProcessTrace::on_refused(MonotonicTime /*now*/, std::string why) {
  if (!under_way() || handed_over_at_) return false;
  return enter(TraceState::rejected, "not handed over: " + std::move(why));
}

bool ProcessTrace::on_poll(MonotonicTime now, bool idle) {
  if (!under_way() || !handed_over_at_ || process_ended_at_) return false;
  if (now < *handed_over_at_ + kSamePoll) return false;
  const TraceState before = state_;
  if (request_.memory_snapshot) return settle(now, before);  // another thread: the bit says nothing
  if (!idle) {
    if (busy_is_ours(now)) {
      busy_seen_ = true;
      note_evidence(now);
    }
  } else if (!evidence_at_) {
    const bool before_this = heard_unbegun();
    ++idle_polls_;
    last_idle_poll_ = now;
    if (!before_this && heard_unbegun()) news_until_ = now + news_wait();
  } else if (!idle_since_ && now >= *evidence_at_ + kCrossing) {
    idle_since_ = now;
  }
  return settle(now, before);
}

Nanoseconds ProcessTrace::news_wait() const { return files_unknown_ ? Nanoseconds{} : kNews; }

bool ProcessTrace::busy_is_ours(MonotonicTime now) const {
  // Busy long before our warm-up is due: that is somebody else's trace.
  if (start_) return now >= *start_ - request_.warmup - kEarly;
  // While an iteration is waited for, another trace may run; the file tells them apart.
  return files_unknown_ || temporary_seen_;
}

bool ProcessTrace::on_temporary_file(MonotonicTime now) {
  if (!under_way() || !handed_over_at_ || temporary_seen_) return false;
  const TraceState before = state_;
  temporary_seen_ = true;
  note_evidence(now);
  return settle(now, before);
}

bool ProcessTrace::on_renamed(MonotonicTime now) {
  if (!under_way() || !handed_over_at_ || renamed_) return false;
  const TraceState before = state_;
  renamed_ = true;
  note_evidence(now);
  sentence_ = "the file is there and is being checked";
  return settle(now, before);
}

bool ProcessTrace::on_file(MonotonicTime now, FileCheck check, std::string path) {
  if (!under_way() || !handed_over_at_) return false;
  check_ = std::move(check);
  written_path_ = std::move(path);
  written_at_ = now;
  // A file that was cut off may have lost its id: under a name that only this trace has, it is
  // ours.
  const bool named_by_us = !check_.whole && written_path_ == request_.place.file;
  const bool alien = check_.checked && !check_.ours && !named_by_us;
  if (check_.problem.empty()) {
    if (!check_.checked) {
      check_.problem = "nobody could read it";
    } else if (!check_.whole) {
      check_.problem = "the file is not whole";
    } else if (!check_.ours) {
      check_.problem = "the file does not carry this trace's id";
    }
  }
  const std::string content = content_text(check_, request_.memory_snapshot);
  if (alien) {
    return enter(TraceState::undelivered,
                 fmt::format("left where it is: {} ({}): another trace of this process may have "
                             "come first; ask again",
                             written_path_, content));
  }
  return enter(TraceState::written, "written: " + content);
}

bool ProcessTrace::on_delivered(MonotonicTime /*now*/, TraceDelivery delivery) {
  if (state_ != TraceState::written) return false;
  return enter(TraceState::delivered, take_delivery(std::move(delivery)));
}

bool ProcessTrace::on_late_delivered(MonotonicTime /*now*/, TraceDelivery delivery) {
  if (open()) return false;
  sentence_ += "; since then: " + take_delivery(std::move(delivery));
  return true;
}

// Gives what a person reads of it.
std::string ProcessTrace::take_delivery(TraceDelivery delivery) {
  if (delivery.bytes > 0) check_.summary.file_bytes = delivery.bytes;
  delivery_ = std::move(delivery);
  return fmt::format("{} ({})", delivery_text(*delivery_),
                     content_text(check_, request_.memory_snapshot));
}

bool ProcessTrace::on_undelivered(MonotonicTime /*now*/, std::string why) {
  if (state_ != TraceState::written) return false;
  return enter(TraceState::undelivered, undelivered_sentence(why));
}

// The reason may say where the file is; if not, it is said here.
std::string ProcessTrace::undelivered_sentence(std::string_view why) const {
  const std::string& target = request_.place.target;
  std::string sentence = fmt::format("written, but not brought to {}: {}",
                                     target.empty() ? "the caller" : target, why);
  if (!why.contains(written_path_)) sentence += "; the file is " + written_path_;
  return sentence;
}

bool ProcessTrace::on_files_unknown(MonotonicTime now, std::string why) {
  if (!under_way()) return false;
  const TraceState before = state_;
  files_unknown_ = true;
  files_unknown_why_ = std::move(why);
  return settle(now, before);
}

bool ProcessTrace::on_process_end(MonotonicTime now) {
  if (!under_way() || process_ended_at_) return false;
  if (!handed_over_at_) {
    return enter(TraceState::lost, "the process ended before it fetched the request");
  }
  const TraceState before = state_;
  process_ended_at_ = now;
  if (!evidence_at_) news_until_ = now + news_wait();
  return settle(now, before);
}

bool ProcessTrace::on_cancel(MonotonicTime /*now*/, bool withdrawn) {
  if (!under_way()) return false;
  if (withdrawn && !handed_over_at_) {
    return enter(TraceState::cancelled, "cancelled before the process fetched it");
  }
  if (handed_over_at_) {
    sentence_ = "cannot be recalled, the process has it: runs on and writes its file";
  }
  return false;
}

bool ProcessTrace::on_deadline(MonotonicTime /*now*/) {
  if (!open()) return false;
  if (!handed_over_at_) {
    return enter(TraceState::timed_out, "the deadline passed before the process asked for it");
  }
  if (state_ == TraceState::written) {
    return enter(
        TraceState::timed_out,
        "the deadline passed before the file was brought to its place; it is " + written_path_);
  }
  const bool waits_for_step = request_.iterations > 0 && !evidence_at_;
  return enter(
      TraceState::timed_out,
      fmt::format(
          "the deadline passed while it was {} ({}){}; the process goes on, and what it "
          "may yet write is brought to its place all the same",
          to_string(state_), sentence_,
          waits_for_step ? "; a process that makes no training steps is not traced by them" : ""));
}

bool ProcessTrace::on_late_file(MonotonicTime now, FileCheck check, std::string path) {
  if (open() || !may_still_write()) return false;
  check_ = std::move(check);
  written_path_ = std::move(path);
  written_at_ = now;
  return true;
}

bool ProcessTrace::on_time(MonotonicTime now) {
  if (!open()) return false;
  return settle(now, state_);
}

bool ProcessTrace::beyond_recall() const { return open() && handed_over_at_.has_value(); }

bool ProcessTrace::may_still_write() const {
  const bool given_up = state_ == TraceState::timed_out || state_ == TraceState::rejected;
  return handed_over_at_.has_value() && (under_way() || (given_up && !written_at_));
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
  for (auto due = first_due(); due && due->at <= now; due = first_due()) {
    if (due->verdict != Verdict::phase && now > due->at + kNews) {
      news_until_ = now + kNews;
    } else {
      apply(*due);
    }
  }
  return state_ != before;
}

}  // namespace dynolog
