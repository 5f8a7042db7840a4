// The existing calls. Replies are written by hand where the order and the bytes matter to clients.
#include "rpc/protocol/legacy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "rpc/protocol/strict_json.h"

namespace dynolog::rpc {
namespace {

using nlohmann::json;

// A process has one entry; no host runs more.
constexpr std::size_t kMaxPids = 65'536;

std::string json_string(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::unexpected<Error> missing(std::string_view key) {
  return fail(ErrorKind::not_found, fmt::format("the field \"{}\" is missing", key));
}

std::unexpected<Error> wrong(std::string_view key, std::string_view what) {
  return fail(ErrorKind::invalid, fmt::format("the field \"{}\" is not {}", key, what));
}

// A whole number that fits; some clients may send 64-bit job ids.
std::optional<std::int64_t> integer(const json& value) {
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())) {
    return std::nullopt;
  }
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

Result<std::int64_t> integer_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return missing(key);
  if (const auto value = integer(*found)) return *value;
  return wrong(key, "a whole number");
}

Result<std::int64_t> integer_or(const json& object, const char* key, std::int64_t otherwise) {
  auto value = integer_of(object, key);
  if (!value && value.error().kind == ErrorKind::not_found) return otherwise;
  return value;
}

Result<std::vector<std::int64_t>> integers_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return missing(key);
  if (!found->is_array() || found->size() > kMaxPids) return wrong(key, "a list of pids");
  std::vector<std::int64_t> values;
  values.reserve(found->size());
  for (const json& element : *found) {
    const auto value = integer(element);
    if (!value) return wrong(key, "a list of whole numbers");
    values.push_back(*value);
  }
  return values;
}

Result<std::string> string_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return missing(key);
  if (!found->is_string()) return wrong(key, "a string");
  return found->get<std::string>();
}

}  // namespace

Result<LegacyTraceRequest> decode_legacy_trace_request(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  auto config = string_of(**object, "config");
  auto pids = integers_of(**object, "pids");
  const auto job_id = integer_or(**object, "job_id", 0);
  const auto limit = integer_or(**object, "process_limit", 1000);
  // A missing field comes first: existing clients are told "failed" for it, whatever else is wrong.
  if (!config && config.error().kind == ErrorKind::not_found)
    return std::unexpected(config.error());
  if (!pids) return std::unexpected(pids.error());
  if (!config) return std::unexpected(config.error());
  if (!job_id) return std::unexpected(job_id.error());
  if (!limit) return std::unexpected(limit.error());
  return LegacyTraceRequest{std::move(*config), *job_id, std::move(*pids), *limit};
}

std::string encode_legacy(const LegacyTraceRequest& request) {
  return fmt::format(
      "\n{{\n    \"fn\": \"setKinetOnDemandRequest\",\n    \"config\": {},\n    \"job_id\": {},\n"
      "    \"pids\": [{}],\n    \"process_limit\": {}\n}}",
      json_string(request.config), request.job_id, fmt::join(request.pids, ","),
      request.process_limit);
}

std::string encode_legacy(const LegacyTraceReply& reply) {
  return fmt::format(
      R"({{"activityProfilersBusy":{},"activityProfilersTriggered":[{}],"eventProfilersBusy":{},)"
      R"("eventProfilersTriggered":[{}],"processesMatched":[{}]}})",
      reply.activity_profilers_busy, fmt::join(reply.activity_profilers_triggered, ","),
      reply.event_profilers_busy, fmt::join(reply.event_profilers_triggered, ","),
      fmt::join(reply.processes_matched, ","));
}

std::string encode_legacy_status(std::int64_t status) {
  return fmt::format(R"({{"status":{}}})", status);
}

std::string encode_legacy_version(std::string_view version) {
  return fmt::format(R"({{"version":{}}})", json_string(version));
}

std::string encode_legacy_failed(std::string_view exception) {
  if (exception.empty()) return R"({"status":"failed"})";
  return fmt::format(R"({{"status":{}}})",
                     json_string(fmt::format("failed with exception = {}", exception)));
}

Result<LegacyTraceReply> decode_legacy_trace_reply(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  if (const auto status = string_of(**object, "status")) {
    return fail(ErrorKind::failed, "the daemon says: " + clean_text(*status, 300));
  }
  LegacyTraceReply reply;
  auto matched = integers_of(**object, "processesMatched");
  if (!matched) return std::unexpected(matched.error());
  reply.processes_matched = std::move(*matched);
  // The rest is for information: a daemon without event profilers may leave it out.
  reply.activity_profilers_busy = integer_or(**object, "activityProfilersBusy", 0).value_or(0);
  reply.activity_profilers_triggered =
      integers_of(**object, "activityProfilersTriggered").value_or(std::vector<std::int64_t>{});
  reply.event_profilers_busy = integer_or(**object, "eventProfilersBusy", 0).value_or(0);
  reply.event_profilers_triggered =
      integers_of(**object, "eventProfilersTriggered").value_or(std::vector<std::int64_t>{});
  return reply;
}

Result<std::int64_t> decode_legacy_status(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  return integer_of(**object, "status");
}

Result<std::string> decode_legacy_version(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  return string_of(**object, "version");
}

Result<bool> decode_legacy_bool_status(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  const auto found = (*object)->find("status");
  if (found == (*object)->end()) return missing("status");
  if (!found->is_boolean()) return wrong("status", "true or false");
  return found->get<bool>();
}

Result<std::int64_t> decode_legacy_pause_seconds(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  return integer_of(**object, "duration_s");
}

std::string encode_legacy_bool_status(bool status) {
  return fmt::format(R"({{"status":{}}})", status);
}

std::string encode_legacy_pause(std::int64_t seconds) {
  return fmt::format(R"({{"fn":"dcgmProfPause","duration_s":{}}})", seconds);
}

}  // namespace dynolog::rpc
