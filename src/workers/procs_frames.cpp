// JSON codec of the procs worker's frames.
#include "workers/procs_frames.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "workers/facts_json.h"
#include "workers/frame_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

std::optional<SocketHolder> holder_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  FrameMembers members(json);
  SocketHolder holder;
  holder.key.pid.value = members.integer<std::int32_t>("pid");
  holder.key.start_ticks = members.integer<std::uint64_t>("start");
  holder.uid.value = members.integer<std::uint32_t>("uid");
  holder.container = members.text("container");
  holder.host_namespaces = members.boolean("host_namespaces");
  if (!members.ok()) return std::nullopt;
  return holder;
}

}  // namespace

std::string encode(const ProcsRequest& request) {
  Json pids = Json::array();
  for (const Pid pid : request.pids) pids.push_back(pid.value);
  return frame_text({{"verb", static_cast<int>(request.verb)},
                     {"pid", request.key.pid.value},
                     {"start", request.key.start_ticks},
                     {"inode", request.inode},
                     {"uid", request.uid.value},
                     {"of_everybody", request.of_everybody},
                     {"pids", std::move(pids)},
                     {"paths", request.paths}});
}

Result<ProcsRequest> decode_procs_request(std::string_view body) {
  const auto json = frame_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  ProcsRequest request;
  request.verb = members.enumeration("verb", ProcsRequest::Verb::host_look);
  request.key.pid.value = members.integer<std::int32_t>("pid");
  request.key.start_ticks = members.integer<std::uint64_t>("start");
  request.inode = members.integer<std::uint32_t>("inode");
  request.uid.value = members.integer<std::uint32_t>("uid");
  request.of_everybody = members.boolean("of_everybody");
  const Json* pids = members.array("pids", kMaxNamedPids);
  const Json* paths = members.array("paths", kMaxLookedAtPaths);
  if (!members.ok()) return frame_misfit();
  const auto numbers = numbers_from(*pids);
  auto texts = texts_from(*paths);
  if (!numbers || !texts) return frame_misfit();
  for (const std::int32_t pid : *numbers) request.pids.push_back(Pid{pid});
  request.paths = std::move(*texts);
  return request;
}

std::string encode_facts(const Result<ProcessFacts>& facts) {
  if (!facts) return error_reply(facts.error());
  return frame_text(facts_json(*facts));
}

Result<ProcessFacts> decode_facts(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  auto facts = facts_from_json(*json);
  if (!facts) return frame_misfit();
  return std::move(*facts);
}

std::string encode_holders(const Result<std::vector<SocketHolder>>& holders) {
  if (!holders) return error_reply(holders.error());
  Json array = Json::array();
  for (const SocketHolder& holder : *holders) {
    array.push_back({{"pid", holder.key.pid.value},
                     {"start", holder.key.start_ticks},
                     {"uid", holder.uid.value},
                     {"container", holder.container},
                     {"host_namespaces", holder.host_namespaces}});
  }
  return frame_text({{"holders", std::move(array)}});
}

Result<std::vector<SocketHolder>> decode_holders(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  const Json* array = members.array("holders", kMaxSocketHolders);
  if (array == nullptr) return frame_misfit();
  std::vector<SocketHolder> holders;
  for (const Json& item : *array) {
    auto holder = holder_from(item);
    if (!holder) return frame_misfit();
    holders.push_back(std::move(*holder));
  }
  return holders;
}

}  // namespace dynolog
