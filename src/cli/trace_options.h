// What `dyno gputrace` was asked for on the command line, and the request that it becomes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rpc/protocol/legacy.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

struct GputraceOptions {
  std::string job_id = "0";
  std::string pids = "0";
  std::string ranks;
  std::optional<std::string> user;
  std::optional<std::string> command;
  std::string gpus;
  std::optional<std::string> container;
  bool all = false;
  std::int64_t process_limit = 0;
  std::string log_file;
  std::string output;
  bool make_directories = false;
  bool gzip = false;
  bool check = true;
  std::int64_t duration_ms = 500;
  bool duration_given = false;
  std::int64_t iterations = -1;
  std::int64_t start_time_ms = 0;
  std::optional<double> start_in_s;
  std::int64_t iteration_roundup = 1;
  std::optional<std::int64_t> warmup_s;
  std::string activity_types;
  std::optional<std::int64_t> buffer_mb;
  std::string pm_sampling_metrics;
  std::optional<std::int64_t> pm_sampling_device;
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stacks = false;
  bool with_flops = false;
  bool with_modules = false;
  std::vector<std::string> set;
  bool wait = true;
  double deadline_s = 0;
  std::string follow;
  std::string cancel;
};

// "12,34" -> {12, 34}; "0" or "" -> {}: every process.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_pids(std::string_view option,
                                                           std::string_view text);
// "0,2,4-7" -> {0, 2, 4, 5, 6, 7}; `option` is named in the error.
[[nodiscard]] Result<std::vector<int>> parse_numbers(std::string_view option,
                                                     std::string_view text);
// As the request has them.
struct RankList {
  std::vector<int> ranks;
  std::vector<int> worlds;  // of each, 0: of any
};
// The same of ranks, which may also be given as `dyno ps` shows them: "3/8" is the 3 of a job of 8.
[[nodiscard]] Result<RankList> parse_ranks(std::string_view option, std::string_view text);
// "a, b" -> {"a", "b"}; an empty one is an error.
[[nodiscard]] Result<std::vector<std::string>> parse_names(std::string_view option,
                                                           std::string_view text);

// All but the places of the files, which are TracePlaces' (trace_places.h). An error (invalid) also
// for options that exclude each other.
[[nodiscard]] Result<rpc::PrepareRequest> prepare_request(const GputraceOptions& options);

// For a daemon that only knows the existing call: Kineto's text as existing clients write it. An
// error (invalid) names what that call cannot express.
[[nodiscard]] Result<rpc::LegacyTraceRequest> legacy_request(const rpc::PrepareRequest& request);
// Where the existing clients say that the trace of a process lies.
[[nodiscard]] std::string legacy_file_name(std::string_view log_file, std::int64_t pid);

}  // namespace dynolog
