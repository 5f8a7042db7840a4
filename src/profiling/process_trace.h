// The life of one trace of one process, as a pure state machine: no sockets, threads or files.
//
//   staged -> fetched -> warming_up -> tracing -> writing -> written -> delivered
//   and from each: rejected | busy | cancelled | lost | timed_out; from written: undelivered
//
// It is driven by what the process sends (a poll: idle or not), by what the kernel says (the
// receipt of the configuration, the process's end), by its file (`.tmp` seen, renamed, checked) and
// by time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "processes/identity.h"
#include "profiling/trace_config.h"
#include "traces/trace_summary.h"

namespace dynolog {

enum class TraceState {
  staged,       // waits for the process to poll
  fetched,      // handed over and read by the process
  warming_up,   // Kineto accepted it: before the start
  tracing,      // between the start and its end
  writing,      // after the window, before the rename
  written,      // the file is there and was checked; it is being brought to its place
  delivered,    // end: it lies where it was asked for, or the caller or the daemon has it
  undelivered,  // end: it lies where Kineto wrote it, and could not be brought to its place
  rejected,     // end: the client did not take it
  busy,         // end: own torch.profiler or another trace
  cancelled,    // end: by the user, or pre-empted by the job's own profiler
  lost,         // end: the process ended
  timed_out,    // end
};
[[nodiscard]] std::string_view to_string(TraceState state);
[[nodiscard]] std::optional<TraceState> trace_state_from(std::string_view name);
[[nodiscard]] bool is_end(TraceState state);

// The check of a finished file.
struct FileCheck {
  bool checked = false;  // false: nobody could read it; `problem` says why
  bool whole = false;    // the JSON is complete
  bool ours = false;     // carries the session's trace id (or the client is too old to write one)
  std::string problem;   // a sentence, "" when all is well
  TraceSummary summary;  // default-made when not checked
  bool operator==(const FileCheck&) const = default;
};

// Where a file was brought.
struct TraceDelivery {
  enum class Location { host, caller, daemon };  // host: at the target, in the process's view
  Location location = Location::host;
  std::string path;     // as the location sees it; "" in the daemon's keeping, or never seen
  std::string file_id;  // "dev:inode", on the host
  // Of the file there, where that is another than the one checked (compressed); 0: the same.
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;  // sentences
  bool operator==(const TraceDelivery&) const = default;
};
[[nodiscard]] std::string_view to_string(TraceDelivery::Location location);
[[nodiscard]] std::optional<TraceDelivery::Location> trace_location_from(std::string_view name);

class ProcessTrace {
 public:
  struct Timeouts {
    Nanoseconds staged = std::chrono::seconds(30);  // nobody fetched it: it expires
    Nanoseconds write = std::chrono::minutes(10);   // from the window's end to the rename
    // An iteration trace has no times of its own: until its first sign, and from that to its file.
    Nanoseconds iterations = std::chrono::minutes(30);
    Nanoseconds delivery = std::chrono::hours(1);  // from the check to its place
  };

  ProcessTrace(ProcessKey key, TraceRequest request, MonotonicTime staged_at, Timeouts timeouts);

  // Each input gives true when the state changed. Inputs after an end change nothing.
  bool on_poll_busy_before_hand_over(MonotonicTime now);  // asked with bit 2 clear: -> busy
  // True although the state is still `staged`: from now on it cannot be recalled, and the journal
  // must know.
  bool on_handed_over(MonotonicTime now, WallTime wall, std::optional<WallTime> start);
  bool on_receipt(MonotonicTime now);           // SIOCOUTQ is 0: the client read it
  bool on_not_read(MonotonicTime now);          // still unread at its next poll
  bool on_identity_changed(MonotonicTime now);  // uid or start time differ from those at commit
  // Could not be handed over at all, for example too large for a datagram: -> rejected.
  bool on_refused(MonotonicTime now, std::string why);
  bool on_poll(MonotonicTime now, bool idle);
  bool on_temporary_file(MonotonicTime now);  // `<file>.tmp` exists
  bool on_renamed(MonotonicTime now);         // optional: `<file>` is there and is being checked
  // The file was renamed by the client and checked; `path` is where it lies. A file that is not
  // whole is `written` too, with the check's `problem` saying what is wrong. One that is not ours
  // is left alone: `undelivered`. (One that is cut off and lost its id so is ours under our name.)
  bool on_file(MonotonicTime now, FileCheck check, std::string path);
  // The file of a trace that was given up on, and that its process went on with: kept, without
  // another state. False where none can come.
  bool on_late_file(MonotonicTime now, FileCheck check, std::string path);
  // Written before. The last word on it, whatever the process does meanwhile.
  bool on_delivered(MonotonicTime now, TraceDelivery delivery);
  bool on_undelivered(MonotonicTime now, std::string why);
  // After an end: its file was brought somewhere all the same, or from one place to another. The
  // state stays. False before the end.
  bool on_late_delivered(MonotonicTime now, TraceDelivery delivery);
  // Nobody can look at the directory: the polls decide. The end is then `delivered` unchecked, with
  // an empty path, where Kineto writes to the target itself, and `undelivered` where it does not.
  bool on_files_unknown(MonotonicTime now, std::string why);
  // A process that was tracing may have left its file at the very end: `lost` is then told a little
  // later, by on_time(). Keep watching the file until the end.
  bool on_process_end(MonotonicTime now);
  bool on_cancel(MonotonicTime now, bool withdrawn);  // withdrawn: it was never handed over
  bool on_deadline(MonotonicTime now);
  bool on_time(MonotonicTime now);  // whatever falls due

  // When on_time() should be called next.
  [[nodiscard]] std::optional<MonotonicTime> next_due() const;

  [[nodiscard]] const ProcessKey& key() const { return key_; }
  [[nodiscard]] const TraceRequest& request() const { return request_; }
  [[nodiscard]] const Timeouts& timeouts() const { return timeouts_; }
  [[nodiscard]] TraceState state() const { return state_; }
  [[nodiscard]] const std::string& sentence() const { return sentence_; }  // what a person reads
  [[nodiscard]] const FileCheck& check() const { return check_; }
  // Where the checked file lay before its delivery; "" until it was seen.
  [[nodiscard]] const std::string& written_path() const { return written_path_; }
  [[nodiscard]] const std::optional<TraceDelivery>& delivery() const { return delivery_; }
  // Wall times of what was reached, for the record beside the file; nullopt: not (yet) known.
  struct Times {
    WallTime handed_over;
    std::optional<WallTime> start;  // asked for, or reckoned
    std::optional<WallTime> written;
  };
  [[nodiscard]] Times times(MonotonicTime now, WallTime wall) const;
  // Handed over and not at an end: it cannot be recalled.
  [[nodiscard]] bool beyond_recall() const;
  // Its file may yet appear: it was handed over and is under way, or was given up on.
  [[nodiscard]] bool may_still_write() const;

  // For the journal: everything but the request, as one versioned record of plain values. Times are
  // wall times there, since a restarted daemon may live on after a reboot.
  struct Record {
    TraceState state = TraceState::staged;
    std::string sentence;
    WallTime staged_at;
    std::optional<WallTime> handed_over_at;
    std::optional<WallTime> start;
    bool start_named = false;  // in the text; otherwise reckoned from the receipt
    std::optional<WallTime> receipt_at;
    std::optional<WallTime> evidence_at;
    std::optional<WallTime> idle_since;
    std::optional<WallTime> last_idle_poll;
    int idle_polls = 0;
    std::optional<WallTime> news_until;
    std::optional<WallTime> process_ended_at;
    bool temporary_seen = false;
    bool busy_seen = false;
    bool renamed = false;
    bool files_unknown = false;
    std::string files_unknown_why;
    FileCheck check;
    std::string written_path;
    std::optional<WallTime> written_at;
    std::optional<TraceDelivery> delivery;
    bool operator==(const Record&) const = default;
  };
  [[nodiscard]] Record record(MonotonicTime now, WallTime wall) const;
  [[nodiscard]] static ProcessTrace restore(ProcessKey key, TraceRequest request, Timeouts timeouts,
                                            const Record& record, MonotonicTime now, WallTime wall);

 private:
  enum class Verdict {
    expired,
    not_read,
    not_accepted,
    no_iteration,
    no_file,
    pre_empted,
    unchecked,
    lost,
    too_long,
    not_brought,
    phase
  };
  // What happens by itself, and when: the one place that next_due() and on_time() both ask.
  struct Due {
    MonotonicTime at;
    Verdict verdict;
  };
  [[nodiscard]] std::vector<Due> dues() const;
  void add_dues_before_evidence(std::vector<Due>& dues) const;
  void add_dues_after_evidence(std::vector<Due>& dues) const;
  [[nodiscard]] std::optional<Due> first_due() const;
  [[nodiscard]] bool heard_unbegun() const;
  [[nodiscard]] Nanoseconds news_wait() const;
  void apply(const Due& due);
  [[nodiscard]] std::string verdict_sentence(const Due& due) const;
  [[nodiscard]] std::string not_accepted_sentence(MonotonicTime at) const;
  [[nodiscard]] TraceState phase_at(MonotonicTime now) const;
  [[nodiscard]] bool open() const { return !is_end(state_); }
  // Until the file is there. From then on nothing that the process does matters.
  [[nodiscard]] bool under_way() const { return state_ < TraceState::written; }
  [[nodiscard]] std::string take_delivery(TraceDelivery delivery);
  [[nodiscard]] std::string undelivered_sentence(std::string_view why) const;
  [[nodiscard]] std::string unchecked_sentence() const;
  [[nodiscard]] std::string no_file_sentence() const;
  [[nodiscard]] std::string not_begun_sentence() const;
  [[nodiscard]] std::string pre_empted_sentence() const;
  [[nodiscard]] std::string lost_sentence() const;
  [[nodiscard]] std::string unfinished_text() const;
  [[nodiscard]] std::string left_for_good_text() const;
  [[nodiscard]] bool busy_is_ours(MonotonicTime now) const;
  [[nodiscard]] MonotonicTime accepted_by() const;
  [[nodiscard]] std::string time_text(MonotonicTime time) const;
  void note_evidence(MonotonicTime now);
  void advance(MonotonicTime now);
  bool settle(MonotonicTime now, TraceState before);
  bool enter(TraceState state, std::string sentence);

  ProcessKey key_;
  TraceRequest request_;
  Timeouts timeouts_;
  TraceState state_ = TraceState::staged;
  std::string sentence_;
  FileCheck check_;
  MonotonicTime staged_at_;
  std::optional<MonotonicTime> handed_over_at_;
  WallTime handed_over_wall_;
  std::optional<MonotonicTime> start_;  // nullopt: iteration mode, or not handed over
  bool start_named_ = false;
  std::optional<MonotonicTime> receipt_at_;
  std::optional<MonotonicTime> evidence_at_;  // first sign that the client took it
  std::optional<MonotonicTime> idle_since_;   // first idle poll after that sign
  std::optional<MonotonicTime> last_idle_poll_;
  int idle_polls_ = 0;  // since the receipt, without a sign
  // Until then nothing is judged: the daemon stood still, or polls that waited for it were handled
  // before the news of the file that waited beside them.
  std::optional<MonotonicTime> news_until_;
  std::optional<MonotonicTime> process_ended_at_;
  bool temporary_seen_ = false;
  bool busy_seen_ = false;
  bool renamed_ = false;
  bool files_unknown_ = false;
  std::string files_unknown_why_;
  std::string written_path_;
  std::optional<MonotonicTime> written_at_;
  std::optional<TraceDelivery> delivery_;
};

}  // namespace dynolog
