// JSON codec of what a scan finds.
#include "workers/scan_frames.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "workers/facts_json.h"
#include "workers/frame_json.h"
#include "workers/procs_frames.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

Json maybe_json(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

std::optional<std::string> maybe_text(FrameMembers& members, const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found != object.end() && found->is_null()) return std::nullopt;
  return members.text(name);
}

Json signs_json(const ProcessSigns& signs) {
  return {{"state", std::string(1, signs.state)},
          {"frozen", signs.frozen},
          {"network_namespace", signs.network_namespace},
          {"executable", signs.executable},
          {"torch_address", signs.torch_address},
          {"maps_gpu_torch", signs.maps_gpu_torch},
          {"profiler_library", signs.profiler_library},
          {"profiler_variable", signs.profiler_variable},
          {"environment_variables", signs.environment_variables},
          {"use_daemon", maybe_json(signs.use_daemon)},
          {"log_level", maybe_json(signs.log_level)},
          {"teardown_cupti", maybe_json(signs.teardown_cupti)}};
}

std::optional<ProcessSigns> signs_from(const Json& json) {
  FrameMembers members(json);
  ProcessSigns signs;
  const std::string state = members.text("state");
  if (state.size() == 1) signs.state = state.front();
  signs.frozen = members.boolean("frozen");
  signs.network_namespace = members.text("network_namespace");
  signs.executable = members.text("executable");
  signs.torch_address = members.text("torch_address");
  signs.maps_gpu_torch = members.boolean("maps_gpu_torch");
  signs.profiler_library = members.text("profiler_library");
  signs.profiler_variable = members.text("profiler_variable");
  signs.environment_variables = members.integer<std::uint64_t>("environment_variables");
  signs.use_daemon = maybe_text(members, json, "use_daemon");
  signs.log_level = maybe_text(members, json, "log_level");
  signs.teardown_cupti = maybe_text(members, json, "teardown_cupti");
  if (!members.ok()) return std::nullopt;
  return signs;
}

Json process_json(const ScannedProcess& process) {
  return {{"facts", facts_json(process.facts)}, {"signs", signs_json(process.signs)}};
}

std::optional<ScannedProcess> process_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  FrameMembers members(json);
  const Json* facts = members.object("facts");
  const Json* signs = members.object("signs");
  if (!members.ok()) return std::nullopt;
  auto known_facts = facts_from_json(*facts);
  auto known_signs = signs_from(*signs);
  if (!known_facts || !known_signs) return std::nullopt;
  return ScannedProcess{std::move(*known_facts), std::move(*known_signs)};
}

std::optional<ProfilingTool> tool_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  FrameMembers members(json);
  ProfilingTool tool;
  tool.pid.value = members.integer<std::int32_t>("pid");
  tool.uid.value = members.integer<std::uint32_t>("uid");
  tool.name = members.text("name");
  if (!members.ok()) return std::nullopt;
  return tool;
}

std::optional<HostLook::Space> space_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  FrameMembers members(json);
  HostLook::Space space;
  space.path = members.text("path");
  space.free_bytes = members.integer<std::uint64_t>("free");
  space.id = members.text("id");
  space.problem = members.text("problem");
  if (!members.ok()) return std::nullopt;
  return space;
}

template <class T>
bool take_all(const Json& array, std::optional<T> (*take)(const Json&), std::vector<T>& into) {
  for (const Json& item : array) {
    auto taken = take(item);
    if (!taken) return false;
    into.push_back(std::move(*taken));
  }
  return true;
}

}  // namespace

std::string encode_scan(const Result<ScanReply>& reply) {
  if (!reply) return error_reply(reply.error());
  Json processes = Json::array();
  for (const ScannedProcess& process : reply->processes) processes.push_back(process_json(process));
  Json tools = Json::array();
  for (const ProfilingTool& tool : reply->tools) {
    tools.push_back({{"pid", tool.pid.value}, {"uid", tool.uid.value}, {"name", tool.name}});
  }
  return frame_text({{"processes", std::move(processes)},
                     {"tools", std::move(tools)},
                     {"next", reply->next.value},
                     {"looked_at", reply->looked_at},
                     {"refused", reply->refused}});
}

Result<ScanReply> decode_scan(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  ScanReply reply;
  reply.next.value = members.integer<std::int32_t>("next");
  reply.looked_at = members.integer<std::uint32_t>("looked_at");
  reply.refused = members.integer<std::uint32_t>("refused");
  const Json* processes = members.array("processes", kMaxScannedInReply);
  const Json* tools = members.array("tools", kMaxToolsInReply);
  if (!members.ok() || reply.next.value < 0) return frame_misfit();
  if (!take_all(*processes, process_from, reply.processes) ||
      !take_all(*tools, tool_from, reply.tools)) {
    return frame_misfit();
  }
  return reply;
}

std::size_t encoded_size(const ScannedProcess& process) {
  return frame_text(process_json(process)).size();
}

std::string encode_host_look(const Result<HostLook>& look) {
  if (!look) return error_reply(look.error());
  Json spaces = Json::array();
  for (const HostLook::Space& space : look->spaces) {
    spaces.push_back({{"path", space.path},
                      {"free", space.free_bytes},
                      {"id", space.id},
                      {"problem", space.problem}});
  }
  return frame_text({{"spaces", std::move(spaces)},
                     {"nvidia_driver", look->nvidia_driver},
                     {"nvidia_problem", look->nvidia_problem}});
}

Result<HostLook> decode_host_look(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  HostLook look;
  look.nvidia_driver = members.boolean("nvidia_driver");
  look.nvidia_problem = members.text("nvidia_problem");
  const Json* spaces = members.array("spaces", kMaxLookedAtPaths);
  if (!members.ok() || !take_all(*spaces, space_from, look.spaces)) return frame_misfit();
  return look;
}

std::string encode_looking(Pid pid) { return frame_text({{"looking", pid.value}}); }

std::optional<Pid> decode_looking(std::string_view body) {
  const auto json = frame_object(body);
  if (!json) return std::nullopt;
  FrameMembers members(*json);
  const Pid pid{members.integer<std::int32_t>("looking")};
  if (!members.ok() || pid.value <= 0) return std::nullopt;
  return pid;
}

}  // namespace dynolog
