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

#include "traces/trace_summary.h"

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
// Asked of daemons of any version: what a daemon does not say is not set.
struct FeatureState {
  std::string name;   // "kineto:abstract", "kineto:/run/dynolog/u/1000", "realtime", "rpc:tcp", ...
  std::string state;  // "ok" | "degraded" | "off"
  std::string reason;  // a sentence when not ok
};
struct CollectorState {  // from the framework's own measurement
  std::string name;
  std::string kind;  // "collector" | "sink"
  std::optional<double> last_duration_s;
  std::optional<std::uint64_t> successes;
  std::optional<std::uint64_t> failures;
  std::string last_error;
  std::optional<bool> failing;             // now; last_error may be an old one
  std::optional<bool> unavailable;         // failing since the host does not offer what it needs
  std::optional<double> age_s;             // since it last succeeded
  std::optional<double> total_duration_s;  // of all runs
  std::optional<std::uint64_t> period_s;   // collectors: from run to run; 0: the daemon's interval
  std::optional<std::uint64_t> absent;     // collectors: values that could not be had
  // Sinks: what waits for delivery, was dropped, did not get out.
  std::optional<std::uint64_t> queue_length;
  std::optional<std::uint64_t> dropped;
  std::optional<std::uint64_t> delivery_failures;
};
// What the daemon itself costs, beyond what StatusReply has of old.
struct OwnCost {
  std::uint64_t memory_bytes = 0;
  std::string memory_kind;                        // "pss" | "rss", where the kernel refuses that
  double window_s = 0;                            // that the two rates are of
  std::optional<double> cpu_share;                // of one core
  std::optional<double> wakeups_per_s;            // of all its threads
  std::optional<std::uint64_t> open_descriptors;  // of its own, not of its workers
  std::uint64_t descriptor_limit = 0;
  std::uint64_t workers = 0;  // child processes, now
  std::uint64_t worker_restarts = 0;
};
struct StatusReply {
  std::string version;
  std::string host;
  std::optional<std::int64_t> pid;
  std::string mode;  // "system" | "user"
  std::string run_dir;
  std::optional<double> uptime_s;
  std::vector<FeatureState> features;
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> sessions;  // committed and not ended
  std::vector<CollectorState> collectors;
  std::optional<double> cpu_seconds;  // of the daemon since its start
  std::optional<std::uint64_t> resident_bytes;
  std::optional<OwnCost> cost;
  std::vector<std::pair<std::string, std::uint64_t>> counters;  // drops and rejections by name
};

// --- logLevel {}, setLogLevel ---
// The level lasts until the daemon's end or its next reload, which sets the configured one.
struct SetLogLevelRequest {
  std::string level;  // "debug" | "info" | "warning" | "error"
};
struct LogLevelReply {  // of both
  std::string level;
  std::string configured;
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
  std::string role;  // "worker" | "launcher" | "data_loader" | "helper"
  bool holds_gpu = false;
  std::vector<int> gpus;  // device numbers that it holds open
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
  // Of jobs of how many ranks each of them is, 0: of any. Absent: all of any.
  std::optional<std::vector<int>> rank_worlds;
  std::optional<std::string> user;  // name or number
  std::optional<std::string> command;
  std::vector<int> gpus;                 // that hold one of these open
  std::optional<std::string> container;  // its id, or a beginning of it
  bool all = false;
  std::int64_t process_limit = 0;  // 0: none
};
struct TraceSpec {
  // Absolute, as the process sees it; base/path_template.h says what may stand in it. Not looked at
  // with bring = "always".
  std::string log_file;
  // Whether the caller takes the file over with fetchTrace instead of finding it on the host:
  //   "never"       it lies at log_file, in the process's view
  //   "other_view"  only where the process's directory of that name is not `caller_directory`
  //   "needed"      the same, and where the process's owner cannot write there
  //   "always"
  std::string bring = "never";
  std::string caller_directory;  // "dev:inode" of log_file's directory for the caller; "": has none
  bool make_directories = false;  // those of log_file, as the process's owner
  bool gzip = false;              // of a file that lies on the host
  std::int64_t duration_ms = 500;
  std::int64_t iterations = 0;
  std::int64_t iteration_roundup = 1;
  std::int64_t start_time_ms = 0;
  std::optional<double> start_in_s;  // so long after the commit, by the daemon's own clock
  std::optional<std::int64_t> warmup_s;
  std::vector<std::string> activity_types;  // of Kineto, lower case; empty: its own choice
  std::optional<std::int64_t> buffer_mb;    // of the GPU's records
  std::vector<std::string> pm_sampling_metrics;
  std::optional<std::int64_t> pm_sampling_device;
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
  std::optional<int> local_rank;
  std::optional<int> world_size;
  std::string user;
  std::string command;
  std::string job;
  std::string torch_version;
  std::vector<int> gpus;
  bool brought = false;        // the caller takes it over with fetchTrace
  std::string file;            // where it will lie, in the process's view; "" when brought
  double expected_wait_s = 0;  // the sum of the following and of the writing
  double poll_s = 0;
  double warmup_s = 0;
  double window_s = 0;
  std::vector<std::string> notes;  // sentences
  std::string problem;             // not "": this process cannot be traced, and why
};
struct SkippedProcess {
  std::int64_t pid = 0;
  std::optional<int> rank;
  std::string role;
  std::string command;
  std::string reason;
};
struct PrepareReply {
  std::string session;  // "" when nothing can be traced
  std::string host;     // the daemon's, for file names
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
  // Somebody waits and is going to fetch what is to be brought; otherwise the daemon keeps it.
  bool attended = true;
};
struct CommitReply {
  std::string session;
  std::uint64_t staged = 0;
};
// followTrace {"session": ID}: the current state of each process at once, then one frame for each
// change, then one with done = true; the connection stays open for further calls.
struct TraceUpdate {
  std::int64_t pid = 0;
  std::int64_t namespace_pid = 0;  // 0: not known
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::string job;
  std::string state;     // profiling's names: staged ... written, delivered, rejected, ...
  std::string sentence;  // what a person reads
  // Where the file lies now, in the process's view: under a name of the daemon's choice when
  // written, under the one asked for when delivered. "" until it was seen.
  std::string file;
  std::string file_id;  // "dev:inode" of a delivered file
  // Of a delivered file: "host", "caller", "daemon" (kept: see listTraces), or "removed" (it was).
  std::string location;
  std::string trace_id;
  bool ended = false;
  bool fetchable = false;  // written, and waits for fetchTrace
  bool checked = false;    // with written: somebody could read the file
  bool whole = false;
  bool ours = false;
  std::string problem;             // of the check
  std::vector<std::string> notes;  // sentences on the delivery and on what was found
  std::optional<TraceSummary> summary;
  // The process was handed the configuration, and may write the file although this has ended.
  bool may_still_write = false;
};
struct FollowFrame {
  std::string session;
  std::vector<TraceUpdate> updates;
  bool done = false;
  std::string host = {};  // the daemon's, for file names
};
struct SessionRequest {  // followTrace, cancelTrace
  std::string session;
};
// fetchTrace: one piece of a file that is to be brought, or that the daemon keeps. Asked for piece
// by piece, so that it can be taken up again at any offset.
struct FetchRequest {
  std::string session;
  std::int64_t pid = 0;
  std::uint64_t offset = 0;  // bytes of the plain file that the caller has
};
struct FetchReply {
  std::uint64_t offset = 0;       // of this piece; at or before the one asked for
  std::uint64_t plain_bytes = 0;  // of this piece
  std::uint64_t total_bytes = 0;  // of the plain file
  std::uint32_t crc32 = 0;        // of the piece's plain bytes
  std::string stamp;  // of the file: pieces with different stamps are of different files
  std::string data;   // base64 of a gzip member
  bool last = false;
  std::string side_car;  // with the last: JSON text, for .dynolog/ beside the file
};
// releaseTrace: the caller has it whole: the staged file, or the kept one, is removed.
struct ReleaseRequest {
  std::string session;
  std::int64_t pid = 0;
  std::string file;  // where the caller put it, for the audit
};
struct ReleaseReply {
  bool removed = false;
};

// listTraces {}: the caller's sessions of late, newest first; all of them for root of the host.
struct SessionRow {
  std::string session;
  std::string user;  // who asked
  std::int64_t created_ms = 0;
  bool ended = false;
  std::vector<TraceUpdate> traces;
  std::vector<std::string> commands;  // of each trace's process, in their order
  std::uint64_t kept_bytes = 0;       // by the daemon, compressed
  std::int64_t kept_until_ms = 0;     // 0: keeps nothing
};
struct ListTracesReply {
  std::vector<SessionRow> sessions;
  std::uint64_t kept_bytes = 0;  // of the caller
  std::uint64_t quota_bytes = 0;
  double keep_s = 0;
  std::string host = {};  // the daemon's, for file names
};
// deleteTrace {"session": ID}: forgets an ended session and removes what the daemon keeps of it;
// never a file that was delivered.
struct DeleteTraceReply {
  std::uint64_t freed_bytes = 0;
};

// --- diagnose ---
struct DiagnoseRequest {
  std::vector<std::int64_t> pids;  // empty: every process that looks like PyTorch or holds a GPU
  std::optional<std::string> job;
  bool iterations = false;  // it is about a trace of a number of iterations
  // Of those, only what a trace with this selection would mean; its job and pids are not looked at.
  // That there is nothing of it is no error.
  std::optional<SelectionSpec> among = {};
};
struct Finding {
  std::string check;  // what was looked at, in one word: "registered", "capability", "clock", ...
  std::string level;  // "ok" | "note" | "warning" | "broken"
  std::int64_t pid = 0;  // 0: of the daemon or the host
  std::optional<int> rank;
  std::string command;
  std::string what;  // a sentence
  std::string why;   // why it matters, "" with ok
  std::string fix;   // what to type or to change, "" with ok
};
struct DiagnoseReply {
  std::vector<Finding> findings;
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
