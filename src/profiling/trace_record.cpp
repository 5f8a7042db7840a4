// A trace's rank and record as JSON.
#include "profiling/trace_record.h"

#include <fmt/format.h>

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/time_text.h"
#include "base/version.h"
#include "profiling/config_lines.h"
#include "traces/trace_summary_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr std::size_t kMaxNote = 512;
constexpr std::size_t kMaxNotes = 32;
constexpr std::size_t kMaxCommand = 4096;

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json time_json(std::optional<WallTime> time) {
  if (!time) return nullptr;
  return {{"time", to_rfc3339(*time)}, {"ns", time->time_since_epoch().count()}};
}

std::optional<WallTime> wall(std::optional<std::int64_t> ns) {
  return ns ? std::optional(WallTime(Nanoseconds(*ns))) : std::nullopt;
}

Json process_json(const TraceRecord& record) {
  const ProcessFacts& facts = record.facts;
  return {{"pid", facts.key.pid.value},   {"namespace_pid", facts.namespace_pid},
          {"uid", facts.uid.value},       {"user", record.user},
          {"container", facts.container}, {"command", clean_text(facts.command, kMaxCommand)},
          {"gpus", facts.gpus},           {"torch_version", record.torch.version}};
}

Json job_json(const JobFacts& job) {
  return {{"scheduler", job.scheduler},
          {"job", job.job.value},
          {"step", job.step},
          {"rank", optional(job.rank)},
          {"local_rank", optional(job.local_rank)},
          {"world_size", optional(job.world_size)}};
}

// What the client was told, key by key; of a key that stands twice it takes the last.
Json options_json(const TraceRequest& request) {
  Json options = Json::object();
  for (const auto& [key, value] : config_lines(request.config)) {
    options[std::string(key)] = std::string(value);
  }
  return options;
}

Json times_json(const TraceRecord& record) {
  const TraceSummary& summary = record.check.summary;
  const bool handed_over = record.times.handed_over != WallTime{};
  return {{"handed_over",
           time_json(handed_over ? std::optional(record.times.handed_over) : std::nullopt)},
          {"start_asked", time_json(record.times.start)},
          {"window_start", time_json(wall(summary.window_start_ns))},
          {"window_end", time_json(wall(summary.window_end_ns))},
          {"written", time_json(record.times.written)},
          {"clock_error_us", optional(record.clock_error_us)}};
}

Json verdict_json(const FileCheck& check) {
  return {{"checked", check.checked},
          {"whole", check.whole},
          {"ours", check.ours},
          {"problem", check.problem}};
}

Json notes_json(const std::vector<std::string>& notes) {
  Json list = Json::array();
  for (const std::string& note : notes) {
    if (list.size() < kMaxNotes) list.push_back(clean_text(note, kMaxNote));
  }
  return list;
}

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string distributed_info_text(const ProcessFacts& facts) {
  const JobFacts& job = facts.job;
  if (!job.rank) return {};
  // HolisticTraceAnalysis looks for the rank with a blank before the number.
  std::string text = fmt::format("{{\"rank\": {}", *job.rank);
  if (job.world_size) text += fmt::format(", \"world_size\": {}", *job.world_size);
  return text + "}";
}

std::string side_car_text(const TraceRecord& record) {
  Json json = {{"schema", kSchema},
               {"dynolog", kVersion},
               {"file", record.file},
               {"trace_id", record.request.trace_id},
               {"session", record.session.value},
               {"host", record.host},
               {"job", job_json(record.facts.job)},
               {"process", process_json(record)},
               {"memory_snapshot", record.request.memory_snapshot},
               {"times", times_json(record)},
               {"verdict", verdict_json(record.check)},
               {"notes", notes_json(record.notes)},
               {"options", options_json(record.request)}};
  if (record.check.checked)
    json["summary"] = Json::parse(encode_trace_summary(record.check.summary));
  // Indented for people. What may be long goes when it is too long: nothing at first.
  for (const char* const part : {"", "options", "summary"}) {
    json.erase(part);
    for (const int indent : {2, -1}) {
      std::string text = text_of(json, indent);
      if (text.size() <= kMaxTraceRecord) return text;
    }
  }
  return text_of({{"schema", kSchema}, {"trace_id", record.request.trace_id}}, -1);
}

}  // namespace dynolog
