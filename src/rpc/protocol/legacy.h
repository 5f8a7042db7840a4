// The calls that existing dynolog clients send, and the shapes they expect back, to the letter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog::rpc {

struct LegacyTraceRequest {
  std::string config;
  std::int64_t job_id = 0;
  std::vector<std::int64_t> pids;  // empty or {0}: every process of the job
  std::int64_t process_limit = 1000;
};
struct LegacyTraceReply {
  std::int64_t activity_profilers_busy = 0;
  std::vector<std::int64_t> activity_profilers_triggered;
  std::int64_t event_profilers_busy = 0;
  std::vector<std::int64_t> event_profilers_triggered;
  std::vector<std::int64_t> processes_matched;
};

// kind not_found: `config` or `pids` missing -> {"status":"failed"}; kind invalid: wrong types ->
// {"status":"failed with exception = ..."}.
[[nodiscard]] Result<LegacyTraceRequest> decode_legacy_trace_request(std::string_view text);
[[nodiscard]] std::string encode_legacy(const LegacyTraceRequest& request);  // for tests and dyno
[[nodiscard]] std::string encode_legacy(const LegacyTraceReply& reply);
[[nodiscard]] std::string encode_legacy_status(std::int64_t status);         // {"status":1}
[[nodiscard]] std::string encode_legacy_version(std::string_view version);   // {"version":"..."}
[[nodiscard]] std::string encode_legacy_failed(std::string_view exception);  // "" -> "failed"
// What an existing daemon answers; for dyno.
[[nodiscard]] Result<LegacyTraceReply> decode_legacy_trace_reply(std::string_view text);
[[nodiscard]] Result<std::int64_t> decode_legacy_status(std::string_view text);
[[nodiscard]] Result<std::string> decode_legacy_version(std::string_view text);
[[nodiscard]] Result<bool> decode_legacy_bool_status(std::string_view text);  // {"status":true}

// dcgmProfPause: kind not_found without duration_s, invalid with a wrong type.
[[nodiscard]] Result<std::int64_t> decode_legacy_pause_seconds(std::string_view text);
[[nodiscard]] std::string encode_legacy_bool_status(bool status);     // {"status":true}
[[nodiscard]] std::string encode_legacy_pause(std::int64_t seconds);  // dcgmProfPause

}  // namespace dynolog::rpc
