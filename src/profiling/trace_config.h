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
  // Absolute, in the process's view; a pattern of base/path_template.h. "": the file is brought to
  // the caller, and lies in a place of ours until then.
  std::string log_file;
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
  std::vector<std::string> activity_types;  // empty: Kineto's own choice
  std::optional<std::int64_t> buffer_mb;    // of the GPU's records
  std::vector<std::string> pm_sampling_metrics;
  std::optional<std::int64_t> pm_sampling_device;
  std::vector<std::pair<std::string, std::string>> set;  // further KEY=VALUE
};

// Where one process's trace is written, and where it is to lie.
struct TracePlace {
  // In the process's view, with whatever characters the user likes; "" when it is brought.
  std::string target;
  // What was asked for, where the target has a pid or another ending besides; else "". A directory
  // of that name was meant to hold the file.
  std::string named;
  std::string log_file;  // what Kineto is given: safe for its parser, obeyed by this version
  std::string file;      // what Kineto makes of it: the pid is in it
  // Where a client that does not obey writes instead.
  std::vector<std::string> elsewhere;
  // Not a rename of ours: Kineto writes to the target itself.
  bool in_place = false;
  std::string note;  // why it is not written in the target's directory, or ""

  // The caller takes the file over instead of finding it on the host.
  [[nodiscard]] bool brought() const { return target.empty() && !in_place; }
};

// What a place's names are made of, besides the process's facts.
struct PlaceNames {
  std::string host;
  std::string time;           // of the request, for {time}: 20261130-062542Z
  std::string unique;         // 16 random hex digits, of this process's trace alone
  std::string unique_suffix;  // goes into the target when two processes would share it
};

// A name of ours ("dynolog-<unique>.json"), in the target's directory where its path is safe for
// Kineto's parser and this version obeys it, else in KINETO_ONDEMAND_TRACE_DIR or /tmp. Errors
// (invalid): a target that is not absolute, holds "..", NUL or control characters, or is too long.
[[nodiscard]] Result<TracePlace> place_trace(const TraceOptions& options, const ProcessFacts& facts,
                                             const TorchFacts& torch, const PlaceNames& names);
// For a directory that nobody but the process can look into: Kineto writes to the target itself.
// Errors (invalid) name what Kineto's parser would make of the path, and what to do.
[[nodiscard]] Result<TracePlace> place_trace_itself(const TraceOptions& options,
                                                    const ProcessFacts& facts,
                                                    const TorchFacts& torch,
                                                    const PlaceNames& names);

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
  TracePlace place;                // where Kineto will write, in the process's view
  // How far after the warm-up the client itself puts a start that the text does not name.
  Nanoseconds default_lead = std::chrono::seconds(2);
  // PROFILE_MEMORY: the file is a pickle of a memory snapshot, written by another thread of the
  // client. Neither the poll's bit nor a `.tmp` tells of it.
  bool memory_snapshot = false;
};

// Kineto takes a start that is at least warm-up + ~0.9 s ahead of receipt (1.2 s measured safe).
inline constexpr Nanoseconds kStartMargin = Milliseconds(1200);

// Builds the request for one process. Errors (invalid) name the key or option that cannot work: an
// unknown or unsuitable key in `set`, an activity type that this version does not know.
[[nodiscard]] Result<TraceRequest> build_trace_request(const TraceOptions& options,
                                                       const ProcessFacts& facts,
                                                       const TorchFacts& torch,
                                                       std::string trace_id, TracePlace place);

// The existing RPC's path: a caller's own text. Every line is checked against the known keys, types
// and ranges; the error names the key and the line. The text is kept as sent; ACTIVITIES_LOG_FILE
// (the place is in_place), start, warm-up, window and iterations are read out of it.
[[nodiscard]] Result<TraceRequest> check_trace_config(std::string_view config,
                                                      const ProcessFacts& facts,
                                                      const TorchFacts& torch,
                                                      std::string trace_id);

// The text as it leaves: config, start and id. Called by the ipc thread at the hand-over.
[[nodiscard]] std::string handed_over_text(const TraceRequest& request, WallTime now);

// Where Kineto puts the pid: before the first ".pt.trace.json", else the first ".json" anywhere.
[[nodiscard]] std::string kineto_file_name(std::string_view log_file, std::int32_t namespace_pid);

// PyTorch 2.14 on writes only below /tmp/ or KINETO_ONDEMAND_TRACE_DIR, else to a name of its own
// in /tmp: where the trace (or the memory snapshot) of `log_file` will really be, and a sentence
// when that is not where it was asked for. "": no path was named.
struct WhereWritten {
  std::string path;
  std::vector<std::string> elsewhere;  // where a client writes instead that does not obey
  std::string note;
};
[[nodiscard]] WhereWritten where_written(std::string_view log_file, bool snapshot,
                                         const ProcessFacts& facts, const TorchFacts& torch);

}  // namespace dynolog
