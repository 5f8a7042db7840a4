// What happens to a trace by itself, when, and what a person is told about it; and its record.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/time_text.h"
#include "profiling/process_trace.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

// Kineto's loop ticks once a second, and shows a start of the warm-up that much late.
constexpr Nanoseconds kTick = seconds(1);
constexpr Nanoseconds kAcceptance = seconds(2);
// A client renames its file before it is idle again; this long the news of the rename may take.
constexpr Nanoseconds kFileNews = seconds(3);
// A busy client whose file never appears: it may open it late, after a long window on a loaded
// host.
constexpr Nanoseconds kFileOpening = seconds(30);
constexpr Nanoseconds kLastNews = seconds(5);  // the same after the process's end
constexpr int kIdlePolls = 2;
// A lead that is this much short of the margin was not what went wrong.
constexpr Nanoseconds kLeadNoise = Milliseconds(300);

double to_seconds(Nanoseconds span) {
  return std::chrono::duration_cast<std::chrono::duration<double>>(span).count();
}

// A clock that was set, or a journal from elsewhere, must not move times out of range.
MonotonicTime to_monotonic(WallTime time, MonotonicTime now, WallTime wall) {
  constexpr Nanoseconds kYears = std::chrono::hours(24 * 3660);
  return now + std::clamp(Nanoseconds(time - wall), -kYears, kYears);
}

}  // namespace

std::optional<MonotonicTime> ProcessTrace::next_due() const {
  const std::optional<Due> due = first_due();
  return due ? std::optional(due->at) : std::nullopt;
}

std::optional<ProcessTrace::Due> ProcessTrace::first_due() const {
  std::vector<Due> all = dues();
  for (Due& due : all) {
    if (news_until_ && due.verdict != Verdict::phase) due.at = std::max(due.at, *news_until_);
  }
  const auto first = std::ranges::min_element(all, {}, &Due::at);
  return first == all.end() ? std::nullopt : std::optional(*first);
}

// Each of these leads to another state, so none stays due once it has been applied.
std::vector<ProcessTrace::Due> ProcessTrace::dues() const {
  std::vector<Due> dues;
  if (!open()) return dues;
  if (state_ == TraceState::written) {
    const MonotonicTime since = written_at_.value_or(handed_over_at_.value_or(staged_at_));
    dues.push_back({since + timeouts_.delivery, Verdict::not_brought});
  } else if (!handed_over_at_) {
    dues.push_back({staged_at_ + timeouts_.staged, Verdict::expired});
  } else if (process_ended_at_) {
    Nanoseconds patience = renamed_ ? timeouts_.write : kLastNews;
    if (!evidence_at_ || files_unknown_) patience = {};
    dues.push_back({*process_ended_at_ + patience, Verdict::lost});
  } else if (evidence_at_) {
    add_dues_after_evidence(dues);
  } else {
    add_dues_before_evidence(dues);
  }
  return dues;
}

MonotonicTime ProcessTrace::accepted_by() const { return *start_ - request_.warmup + kAcceptance; }

void ProcessTrace::add_dues_before_evidence(std::vector<Due>& dues) const {
  if (!start_) {
    // Pending until the iteration comes: the client says nothing while it waits.
    dues.push_back(
        {receipt_at_.value_or(*handed_over_at_) + timeouts_.iterations, Verdict::no_iteration});
    return;
  }
  dues.push_back({*start_ + request_.window + timeouts_.write, Verdict::too_long});
  if (request_.memory_snapshot) return;
  const MonotonicTime by = accepted_by();
  if (!receipt_at_) {
    dues.push_back({std::max(by, *handed_over_at_ + timeouts_.staged), Verdict::not_read});
    return;
  }
  if (heard_unbegun()) dues.push_back({by, Verdict::not_accepted});
}

// Two idle polls, for a client that is one behind; the last after the warm-up should have begun.
bool ProcessTrace::heard_unbegun() const {
  return start_ && receipt_at_ && !evidence_at_ && idle_polls_ >= kIdlePolls &&
         *last_idle_poll_ >= accepted_by() - kTick;
}

void ProcessTrace::add_dues_after_evidence(std::vector<Due>& dues) const {
  if (start_) {
    dues.push_back({*start_ + request_.window + timeouts_.write, Verdict::too_long});
  } else {
    dues.push_back({*evidence_at_ + timeouts_.iterations, Verdict::too_long});
  }
  const bool no_file = busy_seen_ && !temporary_seen_ && !renamed_;
  if (idle_since_ && !renamed_) {
    if (start_ && *idle_since_ < *start_) {
      dues.push_back({*idle_since_, Verdict::pre_empted});
    } else if (files_unknown_) {
      dues.push_back({*idle_since_, Verdict::unchecked});
    } else {
      dues.push_back({*idle_since_ + kFileNews, no_file ? Verdict::no_file : Verdict::pre_empted});
    }
  }
  if (start_ && no_file && !files_unknown_ && !request_.memory_snapshot) {
    dues.push_back({*start_ + request_.window + kFileOpening, Verdict::no_file});
  }
  if (start_ && state_ == TraceState::warming_up) dues.push_back({*start_, Verdict::phase});
  if (start_ && state_ == TraceState::tracing) {
    dues.push_back({*start_ + request_.window, Verdict::phase});
  }
}

void ProcessTrace::apply(const Due& due) {
  std::string sentence = verdict_sentence(due);
  switch (due.verdict) {
    case Verdict::expired:
    case Verdict::too_long:
      enter(TraceState::timed_out, std::move(sentence));
      break;
    case Verdict::not_read:
    case Verdict::not_accepted:
    case Verdict::no_iteration:
      enter(TraceState::rejected, std::move(sentence));
      break;
    case Verdict::no_file:
      enter(TraceState::busy, std::move(sentence));
      break;
    case Verdict::pre_empted:
      enter(busy_seen_ ? TraceState::cancelled : TraceState::rejected, std::move(sentence));
      break;
    case Verdict::unchecked:
      check_ = {};
      check_.problem = files_unknown_why_;
      if (request_.place.in_place) delivery_.emplace();
      enter(request_.place.in_place ? TraceState::delivered : TraceState::undelivered,
            std::move(sentence));
      break;
    case Verdict::not_brought:
      enter(TraceState::undelivered, std::move(sentence));
      break;
    case Verdict::lost:
      enter(TraceState::lost, std::move(sentence));
      break;
    case Verdict::phase:
      advance(due.at);
      break;
  }
}

std::string ProcessTrace::time_text(MonotonicTime time) const {
  return to_rfc3339(handed_over_wall_ + (time - *handed_over_at_));
}

std::string ProcessTrace::not_accepted_sentence(MonotonicTime at) const {
  if (files_unknown_) {
    return fmt::format(
        "not accepted by the process, as far as can be told: it never said that it was busy, and "
        "nobody can look for {} ({}); a trace shorter than its polls would not have shown",
        request_.place.file, files_unknown_why_);
  }
  const Nanoseconds needed = request_.warmup + kStartMargin;
  const Nanoseconds lead = *start_ - *receipt_at_;
  if (start_named_ && lead < needed - kLeadNoise) {
    return fmt::format(
        "not accepted by the process: it read the request {} its start, and needs {:.1f} s; {}",
        lead < Nanoseconds{} ? "after" : fmt::format("{:.1f} s before", to_seconds(lead)),
        to_seconds(needed),
        request_.asked_start ? "ask for a later start or a shorter warm-up" : "ask again");
  }
  return fmt::format(
      "not accepted by the process: no trace file appeared by {}; another request is pending in "
      "it, "
      "or it took the text for wrong; KINETO_LOG_LEVEL=0 in the job's environment makes it say why",
      time_text(at));
}

// What Kineto leaves beside a file that it did not finish. What lies under a name of ours is taken
// away, or a note says that it is not: to name it here would send people after a file that is gone.
std::string ProcessTrace::left_for_good_text() const {
  if (!temporary_seen_ || !request_.place.in_place) return {};
  return "; it left " + request_.place.file + ".tmp unfinished";
}

// A client opens its file before it looks whether it can start, and is busy only when it does.
std::string ProcessTrace::not_begun_sentence() const {
  if (start_named_ && *evidence_at_ > *start_ - request_.warmup) {
    return fmt::format(
        "not accepted by the process: it took the request up {:.1f} s too late for its start; {}",
        to_seconds(*evidence_at_ - (*start_ - request_.warmup)),
        request_.asked_start ? "ask for a later start or a shorter warm-up" : "ask again");
  }
  // Between two polls it may also have traced, and failed to write.
  return "not begun by the process, or not written to its end: its own torch.profiler came first, "
         "it took the text for wrong, or the file found no room (or is over a quota); "
         "KINETO_LOG_LEVEL=0 in the job's environment makes it say why";
}

std::string ProcessTrace::pre_empted_sentence() const {
  if (!busy_seen_) return not_begun_sentence() + left_for_good_text();
  if (start_ && idle_since_ && *idle_since_ < *start_) {
    return "cancelled in its warm-up: the job's own torch.profiler began, or the GPU's records "
           "overflowed their buffer (--buffer-mb); ask again when its profiler has ended" +
           left_for_good_text();
  }
  return "cancelled: the job's own torch.profiler came in between, or the file could not be "
         "written "
         "to its end (no room, over quota); see to that and ask again" +
         left_for_good_text();
}

std::string ProcessTrace::no_file_sentence() const {
  std::string places = request_.place.file;
  for (const std::string& other : request_.place.elsewhere) places += ", nor at " + other;
  return fmt::format(
      "busy, but no file appeared at {}: its own torch.profiler or another trace came first (ask "
      "again when that has ended), or the process could not open the file: look for its directory, "
      "rights and room",
      places);
}

std::string ProcessTrace::unchecked_sentence() const {
  const TracePlace& place = request_.place;
  if (place.in_place) {
    return fmt::format(
        "written, as far as the process's polls tell, but not checked: {}; it should be {}",
        files_unknown_why_, place.target);
  }
  return fmt::format(
      "written, as far as the process's polls tell, but neither checked nor brought to {}: {}; it "
      "should be {}",
      place.target.empty() ? "the caller" : place.target, files_unknown_why_, place.file);
}

std::string ProcessTrace::lost_sentence() const {
  if (!evidence_at_) return "the process ended before its trace began";
  if (renamed_) {
    return fmt::format("the process ended, and nobody could check {} in time", request_.place.file);
  }
  std::string_view doing = "tracing";
  if (state_ == TraceState::warming_up) doing = "warming up";
  if (state_ == TraceState::writing) doing = "writing the file";
  return fmt::format("the process ended while {}; ask earlier in its life{}", doing,
                     left_for_good_text());
}

std::string ProcessTrace::verdict_sentence(const Due& due) const {
  switch (due.verdict) {
    case Verdict::expired:
      return fmt::format(
          "expired: the process did not ask for it within {} s; it may be stopped, frozen or "
          "ending",
          std::chrono::duration_cast<seconds>(timeouts_.staged).count());
    case Verdict::not_read:
      return "sent, but not read by the process in time, and no trace file appeared; it may be "
             "stopped or overloaded: ask again";
    case Verdict::not_accepted:
      return not_accepted_sentence(due.at);
    case Verdict::no_iteration:
      return fmt::format(
          "not accepted by the process, or its iteration never came: no trace file appeared by {}; "
          "it takes no optimizer steps (torch 2.9 and older ignore an iteration trace then), or "
          "the rounding-up puts the start too far off; ask for a duration instead",
          time_text(due.at));
    case Verdict::no_file:
      return no_file_sentence();
    case Verdict::pre_empted:
      return pre_empted_sentence();
    case Verdict::unchecked:
      return unchecked_sentence();
    case Verdict::lost:
      return lost_sentence();
    case Verdict::too_long:
      return fmt::format(
          "no finished file by {}; the process may still write {}: large traces take minutes, and "
          "steps that stop keep an iteration trace open",
          time_text(due.at), request_.place.file);
    case Verdict::not_brought:
      return undelivered_sentence(fmt::format(
          "not done within {} min",
          std::chrono::duration_cast<std::chrono::minutes>(timeouts_.delivery).count()));
    case Verdict::phase:
      break;
  }
  return {};
}

ProcessTrace::Times ProcessTrace::times(MonotonicTime now, WallTime wall) const {
  Times times;
  times.handed_over = handed_over_wall_;
  // By the clock of the hand-over, as the request has it.
  if (start_ && handed_over_at_) times.start = handed_over_wall_ + (*start_ - *handed_over_at_);
  if (written_at_) times.written = wall + (*written_at_ - now);
  return times;
}

ProcessTrace::Record ProcessTrace::record(MonotonicTime now, WallTime wall) const {
  const auto at = [&](const std::optional<MonotonicTime>& time) -> std::optional<WallTime> {
    if (!time) return std::nullopt;
    return wall + (*time - now);
  };
  Record record;
  record.state = state_;
  record.sentence = sentence_;
  record.staged_at = wall + (staged_at_ - now);
  record.handed_over_at = at(handed_over_at_);
  record.start = at(start_);
  record.start_named = start_named_;
  record.receipt_at = at(receipt_at_);
  record.evidence_at = at(evidence_at_);
  record.idle_since = at(idle_since_);
  record.last_idle_poll = at(last_idle_poll_);
  record.idle_polls = idle_polls_;
  record.news_until = at(news_until_);
  record.process_ended_at = at(process_ended_at_);
  record.temporary_seen = temporary_seen_;
  record.busy_seen = busy_seen_;
  record.renamed = renamed_;
  record.files_unknown = files_unknown_;
  record.files_unknown_why = files_unknown_why_;
  record.check = check_;
  record.written_path = written_path_;
  record.written_at = at(written_at_);
  record.delivery = delivery_;
  return record;
}

ProcessTrace ProcessTrace::restore(ProcessKey key, TraceRequest request, Timeouts timeouts,
                                   const Record& record, MonotonicTime now, WallTime wall) {
  const auto at = [&](const std::optional<WallTime>& time) -> std::optional<MonotonicTime> {
    if (!time) return std::nullopt;
    return to_monotonic(*time, now, wall);
  };
  ProcessTrace trace(key, std::move(request), to_monotonic(record.staged_at, now, wall), timeouts);
  trace.state_ = record.state;
  trace.sentence_ = record.sentence;
  trace.handed_over_at_ = at(record.handed_over_at);
  trace.handed_over_wall_ = record.handed_over_at.value_or(WallTime{});
  trace.start_ = at(record.start);
  trace.start_named_ = record.start_named;
  trace.receipt_at_ = at(record.receipt_at);
  trace.evidence_at_ = at(record.evidence_at);
  trace.idle_since_ = at(record.idle_since);
  trace.last_idle_poll_ = at(record.last_idle_poll);
  trace.idle_polls_ = trace.last_idle_poll_ ? std::max(record.idle_polls, 0) : 0;
  trace.news_until_ = at(record.news_until);
  trace.process_ended_at_ = at(record.process_ended_at);
  trace.temporary_seen_ = record.temporary_seen;
  trace.busy_seen_ = record.busy_seen;
  trace.renamed_ = record.renamed;
  trace.files_unknown_ = record.files_unknown;
  trace.files_unknown_why_ = record.files_unknown_why;
  trace.check_ = record.check;
  trace.written_path_ = record.written_path;
  trace.written_at_ = at(record.written_at);
  trace.delivery_ = record.delivery;
  return trace;
}

}  // namespace dynolog
