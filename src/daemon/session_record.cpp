// Two lines of JSON: the facts, then the journal's text.
#include "daemon/session_record.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "workers/frame_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kMaxProcesses = 16'384;
constexpr std::size_t kMaxNotes = 64;
constexpr std::size_t kMaxText = 64U << 10U;

template <class T>
void put_optional(Json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

Json json_of(Pid pid, const TracedProcess& process) {
  Json json = {{"pid", pid.value},
               {"namespace_pid", process.namespace_pid},
               {"scheduler", process.scheduler},
               {"job", process.job},
               {"step", process.step},
               {"command", process.command},
               {"container", process.container},
               {"torch_version", process.torch_version},
               {"holds_gpu", process.holds_gpu},
               {"gpus", process.gpus},
               {"notes", process.notes}};
  put_optional(json, "rank", process.rank);
  put_optional(json, "local_rank", process.local_rank);
  put_optional(json, "world_size", process.world_size);
  return json;
}

std::string facts_text(const SessionFacts& facts) {
  Json processes = Json::array();
  for (const auto& [pid, process] : facts.processes) processes.push_back(json_of(pid, process));
  return frame_text({{"dynolog_session", kVersion},
                     {"attended", facts.attended},
                     {"gzip", facts.gzip},
                     {"processes", std::move(processes)}});
}

std::unexpected<Error> misfit() {
  return fail(ErrorKind::invalid, "what is known of the session is not readable");
}

// False when it is no list of texts.
bool take_texts(const Json* list, std::vector<std::string>& into) {
  if (list == nullptr) return false;
  for (const Json& item : *list) {
    if (!item.is_string()) return false;
    into.push_back(item.get<std::string>());
  }
  return true;
}

bool take_numbers(const Json* list, std::vector<int>& into) {
  if (list == nullptr) return false;
  for (const Json& item : *list) {
    if (!item.is_number_integer() || item < 0 || item > 65'535) return false;
    into.push_back(item.get<int>());
  }
  return true;
}

Result<std::pair<Pid, TracedProcess>> process_of(const Json& json) {
  if (!json.is_object()) return misfit();
  FrameMembers members(json);
  const Pid pid{members.integer<std::int32_t>("pid")};
  TracedProcess process;
  process.namespace_pid = members.integer<std::int32_t>("namespace_pid");
  process.rank = members.maybe_integer<int>("rank");
  process.local_rank = members.maybe_integer<int>("local_rank");
  process.world_size = members.maybe_integer<int>("world_size");
  process.scheduler = members.exact_text("scheduler", kMaxText);
  process.job = members.exact_text("job", kMaxText);
  process.step = members.exact_text("step", kMaxText);
  process.command = members.exact_text("command", kMaxText);
  process.container = members.exact_text("container", kMaxText);
  process.torch_version = members.exact_text("torch_version", kMaxText);
  process.holds_gpu = members.boolean("holds_gpu");
  const bool lists = take_numbers(members.array("gpus", kMaxHeldGpus), process.gpus) &&
                     take_texts(members.array("notes", kMaxNotes), process.notes);
  if (!members.ok() || !lists) return misfit();
  return std::pair{pid, std::move(process)};
}

Result<SessionFacts> facts_of(std::string_view text) {
  const auto json = frame_object(text);
  if (!json) return misfit();
  FrameMembers members(*json);
  SessionFacts facts;
  const int version = members.integer<int>("dynolog_session");
  facts.attended = members.boolean("attended");
  facts.gzip = members.boolean("gzip");
  const Json* const processes = members.array("processes", kMaxProcesses);
  if (!members.ok() || version != kVersion || processes == nullptr) return misfit();
  for (const Json& item : *processes) {
    auto process = process_of(item);
    if (!process) return std::unexpected(std::move(process.error()));
    if (!facts.processes.insert(std::move(*process)).second) return misfit();
  }
  return facts;
}

}  // namespace

TracedProcess traced_process(const ProcessEntry& entry) {
  TracedProcess process;
  if (entry.torch) process.torch_version = entry.torch->version;
  if (!entry.facts) return process;
  process.namespace_pid = entry.facts->namespace_pid;
  process.rank = entry.facts->job.rank;
  process.local_rank = entry.facts->job.local_rank;
  process.world_size = entry.facts->job.world_size;
  process.scheduler = entry.facts->job.scheduler;
  process.job = entry.facts->job.job.value;
  process.step = entry.facts->job.step;
  process.command = entry.facts->command;
  process.container = entry.facts->container;
  process.holds_gpu = entry.facts->holds_gpu;
  process.gpus = entry.facts->gpus;
  return process;
}

ProcessFacts facts_of(const TracedProcess& process, const ProcessKey& key, Uid uid) {
  ProcessFacts facts;
  facts.key = key;
  facts.uid = uid;
  facts.namespace_pid = process.namespace_pid;
  facts.container = process.container;
  facts.command = process.command;
  facts.holds_gpu = process.holds_gpu;
  facts.gpus = process.gpus;
  facts.job.scheduler = process.scheduler;
  facts.job.job = JobId{process.job};
  facts.job.step = process.step;
  facts.job.rank = process.rank;
  facts.job.local_rank = process.local_rank;
  facts.job.world_size = process.world_size;
  return facts;
}

std::string record_text(const Session& session, const SessionFacts& facts, MonotonicTime now,
                        WallTime wall) {
  return facts_text(facts) + "\n" + journal_text({&session}, now, wall);
}

Result<SessionRecord> parse_record(std::string_view text, MonotonicTime now, WallTime wall) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return misfit();
  auto facts = facts_of(text.substr(0, end));
  if (!facts) return std::unexpected(std::move(facts.error()));
  auto sessions = parse_journal(text.substr(end + 1), now, wall);
  if (!sessions) return std::unexpected(std::move(sessions.error()));
  if (sessions->size() != 1) return misfit();
  return SessionRecord{std::move(sessions->front()), std::move(*facts)};
}

}  // namespace dynolog
