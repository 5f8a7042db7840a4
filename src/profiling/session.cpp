// The journal of trace sessions: JSON with a version, written whole and read strictly.
#include "profiling/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "traces/trace_summary_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2;
constexpr std::size_t kMaxJournal = 64U << 20U;
constexpr std::size_t kMaxSessions = 4096;
constexpr std::size_t kMaxTraces = 16384;
constexpr std::size_t kMaxText = 64U << 10U;
constexpr std::size_t kMaxTexts = 256;
constexpr std::int64_t kMaxWall = 7258118400LL * 1'000'000'000;   // the year 2200
constexpr std::int64_t kMaxSpan = 366LL * 86400 * 1'000'000'000;  // a year

std::int64_t count(Nanoseconds span) { return span.count(); }
std::int64_t count(WallTime time) { return time.time_since_epoch().count(); }

// Absent where there is none: null would be one more thing to read.
template <class T>
void put_optional(Json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = count(*value);
}

// One object of the journal, read field by field. The first thing that is wrong is kept; at the end
// every field must have been asked for.
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail_at("", "is not an object");
  }

  std::string text(const char* name) {
    const Json* const value = find(name);
    if (value == nullptr) return {};
    if (!value->is_string()) return fail_at(name, "is not text"), std::string();
    const auto& text = value->get_ref<const std::string&>();
    if (text.size() > kMaxText) return fail_at(name, "is too long"), std::string();
    return text;
  }
  std::int64_t number(const char* name, std::int64_t least, std::int64_t most) {
    const Json* const value = find(name);
    if (value == nullptr) return least;
    // Whole numbers over the range of int64 are unsigned ones here.
    const bool fits = value->is_number_integer() &&
                      (!value->is_number_unsigned() ||
                       value->get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
    if (!fits) return fail_at(name, "is not a whole number"), least;
    const auto number = value->get<std::int64_t>();
    if (number < least || number > most) return fail_at(name, "is out of range"), least;
    return number;
  }
  std::uint64_t unsigned_number(const char* name) {
    const Json* const value = find(name);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned()) return fail_at(name, "is not a whole number"), 0;
    return value->get<std::uint64_t>();
  }
  bool flag(const char* name) {
    const Json* const value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return fail_at(name, "is neither true nor false"), false;
    return value->get<bool>();
  }
  WallTime wall(const char* name) { return WallTime(Nanoseconds(number(name, 0, kMaxWall))); }
  Nanoseconds span(const char* name) { return Nanoseconds(number(name, 0, kMaxSpan)); }
  std::optional<WallTime> optional_wall(const char* name) {
    return has(name) ? std::optional(wall(name)) : std::nullopt;
  }
  std::optional<Nanoseconds> optional_span(const char* name) {
    return has(name) ? std::optional(span(name)) : std::nullopt;
  }
  std::optional<std::uint64_t> optional_unsigned(const char* name) {
    return has(name) ? std::optional(unsigned_number(name)) : std::nullopt;
  }
  const Json& member(const char* name) {
    static const Json kNothing;
    const Json* const value = find(name);
    return value == nullptr ? kNothing : *value;
  }
  const Json* optional_member(const char* name) { return has(name) ? find(name) : nullptr; }
  std::vector<std::string> texts(const char* name) {
    const Json& list = member(name);
    if (!list.is_array() || list.size() > kMaxTexts) {
      return fail_at(name, "is not a list of texts"), std::vector<std::string>();
    }
    std::vector<std::string> texts;
    for (const Json& item : list) {
      const bool fits = item.is_string() && item.get_ref<const std::string&>().size() <= kMaxText;
      if (!fits) return fail_at(name, "is not a list of texts"), texts;
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }
  void fail_at(std::string_view name, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{}: {} {}", where_, name, what);
  }
  // The first problem of this object, or of one that it holds.
  [[nodiscard]] Status finish() {
    if (problem_.empty() && read_ != json_.size()) fail_at("", "holds an unknown field");
    if (problem_.empty()) return {};
    return fail(ErrorKind::invalid, problem_);
  }

 private:
  [[nodiscard]] bool has(const char* name) const {
    return json_.is_object() && json_.contains(name);
  }
  const Json* find(const char* name) {
    if (!problem_.empty()) return nullptr;
    const auto found = json_.find(name);
    if (found == json_.end()) return fail_at(name, "is missing"), nullptr;
    ++read_;
    return &*found;
  }

  const Json& json_;
  std::string where_;
  std::string problem_;
  std::size_t read_ = 0;
};

Json json_of(const FileCheck& check) {
  Json json = {{"checked", check.checked},
               {"whole", check.whole},
               {"ours", check.ours},
               {"problem", check.problem}};
  if (check.checked) json["summary"] = encode_trace_summary(check.summary);
  return json;
}

Result<FileCheck> check_of(const Json& json) {
  Fields fields(json, "check");
  FileCheck check;
  check.checked = fields.flag("checked");
  check.whole = fields.flag("whole");
  check.ours = fields.flag("ours");
  check.problem = fields.text("problem");
  const std::string summary = check.checked ? fields.text("summary") : "";
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  if (!check.checked) return check;
  auto read = decode_trace_summary(summary);
  if (!read) return std::unexpected(read.error());
  check.summary = *std::move(read);
  return check;
}

Json json_of(const TraceDelivery& delivery) {
  Json json = {{"location", to_string(delivery.location)},
               {"path", delivery.path},
               {"file_id", delivery.file_id},
               {"notes", delivery.notes}};
  if (delivery.bytes > 0) json["bytes"] = delivery.bytes;
  return json;
}

Result<TraceDelivery> delivery_of(const Json& json) {
  Fields fields(json, "delivery");
  TraceDelivery delivery;
  const auto location = trace_location_from(fields.text("location"));
  if (!location) fields.fail_at("location", "is unknown");
  delivery.location = location.value_or(TraceDelivery::Location::host);
  delivery.path = fields.text("path");
  delivery.file_id = fields.text("file_id");
  delivery.bytes = fields.optional_unsigned("bytes").value_or(0);
  delivery.notes = fields.texts("notes");
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  return delivery;
}

Json json_of(const TracePlace& place) {
  return {{"target", place.target},       {"log_file", place.log_file}, {"file", place.file},
          {"elsewhere", place.elsewhere}, {"in_place", place.in_place}, {"note", place.note}};
}

Result<TracePlace> place_of(const Json& json) {
  Fields fields(json, "place");
  TracePlace place;
  place.target = fields.text("target");
  place.log_file = fields.text("log_file");
  place.file = fields.text("file");
  place.elsewhere = fields.texts("elsewhere");
  place.in_place = fields.flag("in_place");
  place.note = fields.text("note");
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  return place;
}

Json json_of(const TraceRequest& request) {
  Json json = {{"config", request.config},
               {"trace_id", request.trace_id},
               {"warmup", count(request.warmup)},
               {"window", count(request.window)},
               {"iterations", request.iterations},
               {"place", json_of(request.place)},
               {"default_lead", count(request.default_lead)},
               {"memory_snapshot", request.memory_snapshot},
               {"carries_trace_id", request.carries_trace_id}};
  put_optional(json, "start_lead", request.start_lead);
  put_optional(json, "asked_start", request.asked_start);
  return json;
}

Result<TraceRequest> request_of(const Json& json) {
  Fields fields(json, "request");
  TraceRequest request;
  request.config = fields.text("config");
  request.trace_id = fields.text("trace_id");
  request.warmup = fields.span("warmup");
  request.window = fields.span("window");
  request.iterations = fields.number("iterations", 0, std::numeric_limits<std::int32_t>::max());
  const Json& place = fields.member("place");
  request.default_lead = fields.span("default_lead");
  request.memory_snapshot = fields.flag("memory_snapshot");
  request.carries_trace_id = fields.flag("carries_trace_id");
  request.start_lead = fields.optional_span("start_lead");
  request.asked_start = fields.optional_wall("asked_start");
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  auto read = place_of(place);
  if (!read) return std::unexpected(read.error());
  request.place = *std::move(read);
  return request;
}

Json json_of(const ProcessTrace::Record& record) {
  Json json = {
      {"state", to_string(record.state)},      {"sentence", record.sentence},
      {"staged_at", count(record.staged_at)},  {"start_named", record.start_named},
      {"idle_polls", record.idle_polls},       {"temporary_seen", record.temporary_seen},
      {"busy_seen", record.busy_seen},         {"renamed", record.renamed},
      {"files_unknown", record.files_unknown}, {"files_unknown_why", record.files_unknown_why},
      {"check", json_of(record.check)},        {"written_path", record.written_path}};
  if (record.delivery) json["delivery"] = json_of(*record.delivery);
  put_optional(json, "written_at", record.written_at);
  put_optional(json, "handed_over_at", record.handed_over_at);
  put_optional(json, "start", record.start);
  put_optional(json, "receipt_at", record.receipt_at);
  put_optional(json, "evidence_at", record.evidence_at);
  put_optional(json, "idle_since", record.idle_since);
  put_optional(json, "last_idle_poll", record.last_idle_poll);
  put_optional(json, "news_until", record.news_until);
  put_optional(json, "process_ended_at", record.process_ended_at);
  return json;
}

Result<ProcessTrace::Record> record_of(const Json& json) {
  Fields fields(json, "trace");
  ProcessTrace::Record record;
  const auto state = trace_state_from(fields.text("state"));
  if (!state) fields.fail_at("state", "is unknown");
  record.state = state.value_or(TraceState::staged);
  record.sentence = fields.text("sentence");
  record.staged_at = fields.wall("staged_at");
  record.start_named = fields.flag("start_named");
  record.idle_polls = static_cast<int>(fields.number("idle_polls", 0, 1'000'000'000));
  record.temporary_seen = fields.flag("temporary_seen");
  record.busy_seen = fields.flag("busy_seen");
  record.renamed = fields.flag("renamed");
  record.files_unknown = fields.flag("files_unknown");
  record.files_unknown_why = fields.text("files_unknown_why");
  record.handed_over_at = fields.optional_wall("handed_over_at");
  record.start = fields.optional_wall("start");
  record.receipt_at = fields.optional_wall("receipt_at");
  record.evidence_at = fields.optional_wall("evidence_at");
  record.idle_since = fields.optional_wall("idle_since");
  record.last_idle_poll = fields.optional_wall("last_idle_poll");
  record.news_until = fields.optional_wall("news_until");
  record.process_ended_at = fields.optional_wall("process_ended_at");
  record.written_path = fields.text("written_path");
  record.written_at = fields.optional_wall("written_at");
  const Json& check = fields.member("check");
  const Json* const delivery = fields.optional_member("delivery");
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  auto read = check_of(check);
  if (!read) return std::unexpected(read.error());
  record.check = *std::move(read);
  if (delivery == nullptr) return record;
  auto delivered = delivery_of(*delivery);
  if (!delivered) return std::unexpected(delivered.error());
  record.delivery = *std::move(delivered);
  return record;
}

Json json_of(const ProcessTrace& trace, const Tenant& tenant, MonotonicTime now, WallTime wall) {
  TraceRequest request = trace.request();
  // Nothing more is handed over: a long text need not be kept.
  if (is_end(trace.state())) request.config.clear();
  return {{"pid", trace.key().pid.value},
          {"start_ticks", trace.key().start_ticks},
          {"uid", tenant.uid.value},
          {"container", tenant.container},
          {"request", json_of(request)},
          {"record", json_of(trace.record(now, wall))},
          {"timeout_staged", count(trace.timeouts().staged)},
          {"timeout_write", count(trace.timeouts().write)},
          {"timeout_iterations", count(trace.timeouts().iterations)},
          {"timeout_delivery", count(trace.timeouts().delivery)}};
}

Uid uid_of(Fields& fields, const char* name) {
  return Uid{static_cast<std::uint32_t>(
      fields.number(name, 0, std::numeric_limits<std::uint32_t>::max()))};
}

Result<ProcessTrace> trace_of(const Json& json, MonotonicTime now, WallTime wall, Tenant& tenant) {
  Fields fields(json, "process");
  tenant.uid = uid_of(fields, "uid");
  tenant.container = fields.text("container");
  ProcessKey key;
  key.pid = Pid{
      static_cast<std::int32_t>(fields.number("pid", 1, std::numeric_limits<std::int32_t>::max()))};
  key.start_ticks = fields.unsigned_number("start_ticks");
  ProcessTrace::Timeouts timeouts;
  timeouts.staged = fields.span("timeout_staged");
  timeouts.write = fields.span("timeout_write");
  timeouts.iterations = fields.span("timeout_iterations");
  timeouts.delivery = fields.span("timeout_delivery");
  const Json& request_json = fields.member("request");
  const Json& record_json = fields.member("record");
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  auto request = request_of(request_json);
  if (!request) return std::unexpected(request.error());
  auto record = record_of(record_json);
  if (!record) return std::unexpected(record.error());
  return ProcessTrace::restore(key, *std::move(request), timeouts, *record, now, wall);
}

Json json_of(const Session& session, MonotonicTime now, WallTime wall) {
  Json traces = Json::array();
  for (const auto& [pid, trace] : session.traces) {
    const auto tenant = session.tenants.find(pid);
    traces.push_back(
        json_of(trace, tenant == session.tenants.end() ? Tenant{} : tenant->second, now, wall));
  }
  Json json = {{"id", session.id.value},
               {"phase", session.phase == SessionPhase::ended ? "ended" : "committed"},
               {"created", count(session.created)},
               {"owner_uid", session.owner.tenant.uid.value},
               {"owner_container", session.owner.tenant.container},
               {"owner_host_root", session.owner.host_root},
               {"owner_pid", session.owner.pid.value},
               {"owner_via", session.owner.via},
               {"traces", std::move(traces)}};
  if (session.deadline) json["deadline"] = count(wall + (*session.deadline - now));
  return json;
}

Status take_traces(const Json& json, MonotonicTime now, WallTime wall, Session& session) {
  if (!json.is_array() || json.size() > kMaxTraces) {
    return fail(ErrorKind::invalid, "session: traces is not a list of processes");
  }
  for (const Json& item : json) {
    Tenant tenant;
    auto trace = trace_of(item, now, wall, tenant);
    if (!trace) return std::unexpected(trace.error());
    const Pid pid = trace->key().pid;
    session.tenants[pid] = std::move(tenant);
    if (!session.traces.emplace(pid, *std::move(trace)).second) {
      return fail(ErrorKind::invalid, "session: one process stands there twice");
    }
  }
  return {};
}

Result<Session> session_of(const Json& json, MonotonicTime now, WallTime wall) {
  Fields fields(json, "session");
  Session session;
  session.id = SessionId{fields.text("id")};
  const std::string phase = fields.text("phase");
  if (phase != "committed" && phase != "ended") fields.fail_at("phase", "is unknown");
  session.phase = phase == "ended" ? SessionPhase::ended : SessionPhase::committed;
  session.created = fields.wall("created");
  session.owner.tenant.uid = uid_of(fields, "owner_uid");
  session.owner.tenant.container = fields.text("owner_container");
  session.owner.host_root = fields.flag("owner_host_root");
  session.owner.pid = Pid{static_cast<std::int32_t>(
      fields.number("owner_pid", 0, std::numeric_limits<std::int32_t>::max()))};
  session.owner.via = fields.text("owner_via");
  if (const auto deadline = fields.optional_wall("deadline")) {
    constexpr Nanoseconds kMost(kMaxSpan);
    session.deadline = now + std::clamp(Nanoseconds(*deadline - wall), -kMost, kMost);
  }
  const Json& traces = fields.member("traces");
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  if (auto ok = take_traces(traces, now, wall, session); !ok) return std::unexpected(ok.error());
  return session;
}

}  // namespace

bool Session::all_ended() const {
  return std::ranges::all_of(traces, [](const auto& item) { return is_end(item.second.state()); });
}

std::string journal_text(const std::vector<const Session*>& sessions, MonotonicTime now,
                         WallTime wall) {
  Json list = Json::array();
  for (const Session* session : sessions) {
    if (session->phase != SessionPhase::prepared) list.push_back(json_of(*session, now, wall));
  }
  const Json journal = {{"dynolog_journal", kVersion}, {"sessions", std::move(list)}};
  return journal.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<Session>> parse_journal(std::string_view text, MonotonicTime now,
                                           WallTime wall) {
  if (text.size() > kMaxJournal) return fail(ErrorKind::invalid, "the journal is over 64 MiB");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail(ErrorKind::invalid, "the journal is not whole JSON");
  Fields fields(json, "journal");
  const std::int64_t version =
      fields.number("dynolog_journal", 0, std::numeric_limits<std::int32_t>::max());
  const Json& list = fields.member("sessions");
  if (auto ok = fields.finish(); !ok) return std::unexpected(ok.error());
  if (version != kVersion) {
    return fail(ErrorKind::invalid,
                fmt::format("the journal is of version {}, and this daemon reads version {} only",
                            version, kVersion));
  }
  if (!list.is_array() || list.size() > kMaxSessions) {
    return fail(ErrorKind::invalid, "journal: sessions is not a list of sessions");
  }
  std::set<std::string> ids;
  std::vector<Session> sessions;
  for (const Json& item : list) {
    auto session = session_of(item, now, wall);
    if (!session) return std::unexpected(session.error());
    if (!ids.insert(session->id.value).second) {
      return fail(ErrorKind::invalid, "journal: one session stands there twice");
    }
    sessions.push_back(*std::move(session));
  }
  return sessions;
}

}  // namespace dynolog
