// The RPC's own methods as structs. Shared by the daemon and `dyno`; the JSON codec is in codec.h.
//
// A request is {"fn": NAME, ...fields}. A reply is an object; an error is
// {"error": {"code": CODE, "message": SENTENCE}}. Replies of own methods carry "schema": 1.
// The existing calls (getStatus, getVersion, setKinetOnDemandRequest, dcgmProfPause,
// dcgmProfResume) are in legacy.h and keep their own shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dynolog::rpc {

inline constexpr int kSchema = 1;
inline constexpr int kDefaultPort = 1778;

// Error codes, in words. `dyno` turns them into exit codes.
// bad_request, unknown_method, denied, not_identified, not_found, ambiguous, unavailable,
// exhausted, failed, timed_out.
struct ErrorReply {
  std::string code;
  std::string message;
};

// --- daemonStatus {} ---
struct FeatureState {
  std::string name;   // "kineto:abstract", "kineto:/run/dynolog/u/1000", "realtime", "rpc:tcp", ...
  std::string state;  // "ok" | "degraded" | "off"
  std::string reason;  // a sentence when not ok
};
struct CollectorState {  // from the framework's own measurement
  std::string name;
  std::string kind;  // "collector" | "sink"
  double last_duration_s = 0;
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;
  std::string last_error;
};
struct StatusReply {
  std::string version;
  std::string host;
  std::int64_t pid = 0;
  std::string mode;  // "system" | "user"
  std::string run_dir;
  double uptime_s = 0;
  std::vector<FeatureState> features;
  std::uint64_t processes = 0;
  std::uint64_t sessions = 0;  // committed and not ended
  std::vector<CollectorState> collectors;
  double cpu_seconds = 0;  // of the daemon since its start
  std::uint64_t resident_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counters;  // drops and rejections by name
};

// --- listProcesses {} ---
// Only the caller's own processes, or all for root of the host.
struct ProcessRow {
  std::int64_t pid = 0;            // on the host
  std::int64_t namespace_pid = 0;  // in the process's own pid namespace; 0: not known yet
  std::uint32_t uid = 0;
  std::string user;  // by the daemon's name service; the number as text when there is no name
  std::string command;
  std::string container;
  std::int64_t started_ms = 0;  // since the epoch
  std::string scheduler;
  std::string job;
  std::string step;
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> world_size;
  std::string rank_source;  // "environment" | "title" | ""
  bool launcher = false;
  bool holds_gpu = false;
  std::string torch_version;
  std::string state;  // "idle" | "busy" | "stalled", or the state of a trace under way ("tracing")
  double last_poll_age_s = 0;
  std::optional<double> poll_period_s;
  std::string endpoint;
  std::string at_risk;               // a sentence, or ""
  std::vector<std::string> missing;  // what could not be read, as sentences
};
struct ListProcessesReply {
  std::vector<ProcessRow> processes;
};

// --- prepareTrace ---
struct SelectionSpec {
  std::optional<std::string> job;
  std::vector<std::int64_t> pids;
  std::vector<int> ranks;
  std::optional<std::string> user;  // name or number
  std::optional<std::string> command;
  bool all = false;
  std::int64_t process_limit = 0;  // 0: none
};
struct TraceSpec {
  std::string log_file;  // absolute, on the traced host
  std::int64_t duration_ms = 500;
  std::int64_t iterations = 0;
  std::int64_t iteration_roundup = 1;
  std::int64_t start_time_ms = 0;
  std::optional<std::int64_t> warmup_s;
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stacks = false;
  bool with_flops = false;
  bool with_modules = false;
  std::vector<std::pair<std::string, std::string>> set;
};
struct PrepareRequest {
  SelectionSpec selection;
  TraceSpec trace;
};
struct PlannedTrace {
  std::int64_t pid = 0;
  std::int64_t namespace_pid = 0;
  std::optional<int> rank;
  std::optional<int> world_size;
  std::string user;
  std::string command;
  std::string job;
  std::string file;                // where it will lie, in the process's view
  double expected_wait_s = 0;      // poll + warm-up + window + writing
  std::vector<std::string> notes;  // sentences
  std::string problem;             // not "": this process cannot be traced, and why
};
struct SkippedProcess {
  std::int64_t pid = 0;
  std::string command;
  std::string reason;
};
struct PrepareReply {
  std::string session;  // "" when nothing can be traced
  std::vector<PlannedTrace> planned;
  std::vector<SkippedProcess> skipped;
  // What was named and is not there, as sentences: "rank 5: no process here".
  std::vector<std::string> unmatched;
  // "7 of 8 ranks here", or "" where nobody can tell.
  std::string coverage;
  std::int64_t expires_in_s = 0;  // an uncommitted session is forgotten then
};

// --- commitTrace / followTrace / cancelTrace ---
struct CommitRequest {
  std::string session;
  double deadline_s = 0;  // 0: none; when it passes, what is unfinished ends as timed_out
};
struct CommitReply {
  std::string session;
  std::uint64_t staged = 0;
};
// followTrace {"session": ID}: the current state of each process at once, then one frame for each
// change, then one with done = true; the connection stays open for further calls.
struct TraceUpdate {
  std::int64_t pid = 0;
  std::optional<int> rank;
  std::string state;     // profiling's names: staged ... written, rejected, ...
  std::string sentence;  // what a person reads
  std::string file;      // "" until written
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::string trace_id;
  bool ended = false;
  bool checked = false;  // with written: somebody could read the file
  bool whole = false;
  bool ours = false;
  std::string problem;  // of the check
  // The process was handed the configuration, and may write the file although this has ended.
  bool may_still_write = false;
};
struct FollowFrame {
  std::string session;
  std::vector<TraceUpdate> updates;
  bool done = false;
};
struct SessionRequest {  // followTrace, cancelTrace
  std::string session;
};
struct CancelReply {
  std::uint64_t withdrawn = 0;              // were never handed over
  std::vector<std::int64_t> beyond_recall;  // run on
};

// --- socketDirectory {} ---
// Makes (or finds) the caller's own directory for Kineto's sockets: /run/dynolog/u/<uid>, or the
// user-mode daemon's own.
struct SocketDirectoryReply {
  std::string directory;
};

}  // namespace dynolog::rpc
