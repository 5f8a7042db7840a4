// Kineto's configuration text: the keys it knows, checking what a caller sends, building our own.
// Pure. Source of keys, types, versions: Kineto's ConfigLoader by PyTorch version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "processes/process_facts.h"

namespace dynolog {

// What `dyno gputrace` asks for, before it is fitted to one process.
struct TraceOptions {
  std::string log_file;  // as the user gave it, absolute
  std::int64_t duration_ms = 500;
  std::int64_t iterations = 0;  // > 0: iteration mode; the duration is sent as well
  std::int64_t iteration_roundup = 1;
  std::int64_t start_time_ms = 0;  // since the epoch; 0: written at the hand-over
  // 0.0 skips the warm-up. nullopt: 1 s for a process that holds a GPU, else 0.
  std::optional<std::int64_t> warmup_s;
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stacks = false;
  bool with_flops = false;
  bool with_modules = false;
  std::vector<std::pair<std::string, std::string>> set;  // further KEY=VALUE
};

// What one process is handed. The text is whole but for lines that are only known at the hand-over:
// PROFILE_START_TIME when `start_lead` is set (now + start_lead), and REQUEST_TRACE_ID.
struct TraceRequest {
  std::string config;                     // KEY=VALUE lines, each ended by '\n'
  std::string trace_id;                   // decimal, appended as REQUEST_TRACE_ID
  std::optional<Nanoseconds> start_lead;  // nullopt: iteration mode, or the text has its own start
  std::optional<WallTime> asked_start;    // the text's own PROFILE_START_TIME
  Nanoseconds warmup{};
  Nanoseconds window{};  // the duration asked for
  std::int64_t iterations = 0;
  // False for clients before 2.6, which write no id into their file.
  bool carries_trace_id = true;
  std::vector<std::string> notes;  // sentences that the asking person should read first
  std::string file;                // where Kineto will write, pid included, in the process's view
  // How far after the warm-up the client itself puts a start that the text does not name.
  Nanoseconds default_lead = std::chrono::seconds(2);
  // PROFILE_MEMORY: the file is a pickle of a memory snapshot, written by another thread of the
  // client. Neither the poll's bit nor a `.tmp` tells of it.
  bool memory_snapshot = false;
};

// Kineto takes a start that is at least warm-up + ~0.9 s ahead of receipt (1.2 s measured safe).
inline constexpr Nanoseconds kStartMargin = Milliseconds(1200);

// Builds the request for one process. `unique_suffix` goes into the file name when two processes of
// a session would write the same file (equal pids in two pid namespaces). Errors (invalid) name the
// key or the part of the path that cannot work: '=', '#', newline, quotes, "..", ".json" in a
// directory's name, a relative path, over 4,000 bytes; an unknown or unsuitable key in `set`.
[[nodiscard]] Result<TraceRequest> build_trace_request(const TraceOptions& options,
                                                       const ProcessFacts& facts,
                                                       const TorchFacts& torch,
                                                       std::string trace_id,
                                                       std::string_view unique_suffix);

// The existing RPC's path: a caller's own text. Every line is checked against the known keys, types
// and ranges; the error names the key and the line. The text is kept as sent; ACTIVITIES_LOG_FILE,
// start, warm-up, window and iterations are read out of it.
[[nodiscard]] Result<TraceRequest> check_trace_config(std::string_view config,
                                                      const ProcessFacts& facts,
                                                      const TorchFacts& torch,
                                                      std::string trace_id);

// The text as it leaves: config, start and id. Called by the ipc thread at the hand-over.
[[nodiscard]] std::string handed_over_text(const TraceRequest& request, WallTime now);

// Where Kineto puts the pid: before the first ".pt.trace.json", else the first ".json" anywhere.
[[nodiscard]] std::string kineto_file_name(std::string_view log_file, std::int32_t namespace_pid);

// PyTorch 2.14 on writes only below /tmp/ or KINETO_ONDEMAND_TRACE_DIR, else to
// /tmp/libkineto_activities_<pid>.json: where the trace of `log_file` will really be, and a
// sentence when that is not where it was asked for.
struct WhereWritten {
  std::string path;
  std::string note;
};
[[nodiscard]] WhereWritten where_written(std::string_view log_file, const ProcessFacts& facts,
                                         const TorchFacts& torch);

}  // namespace dynolog
