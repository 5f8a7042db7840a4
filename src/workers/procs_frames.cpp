// JSON codec of the procs worker's frames.
#include "workers/procs_frames.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "workers/frame_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxMissing = 32;

Json job_json(const JobFacts& job) {
  Json json = {{"scheduler", job.scheduler},
               {"id", job.job.value},
               {"step", job.step},
               {"rank_source", static_cast<int>(job.rank_source)},
               {"launcher", job.launcher}};
  if (job.rank) json["rank"] = *job.rank;
  if (job.local_rank) json["local_rank"] = *job.local_rank;
  if (job.world_size) json["world_size"] = *job.world_size;
  return json;
}

std::optional<JobFacts> job_from(const Json& json) {
  FrameMembers members(json);
  JobFacts job;
  job.scheduler = members.text("scheduler");
  job.job.value = members.text("id");
  job.step = members.text("step");
  job.rank = members.maybe_integer<int>("rank");
  job.local_rank = members.maybe_integer<int>("local_rank");
  job.world_size = members.maybe_integer<int>("world_size");
  job.launcher = members.boolean("launcher");
  job.rank_source = members.enumeration("rank_source", RankSource::title);
  if (!members.ok()) return std::nullopt;
  return job;
}

std::optional<std::vector<std::string>> missing_from(const Json& array) {
  std::vector<std::string> missing;
  for (const Json& sentence : array) {
    if (!sentence.is_string()) return std::nullopt;
    missing.push_back(clean_text(sentence.get_ref<const std::string&>(), kMaxFrameText));
  }
  return missing;
}

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
  return frame_text({{"verb", static_cast<int>(request.verb)},
                     {"pid", request.key.pid.value},
                     {"start", request.key.start_ticks},
                     {"inode", request.inode},
                     {"uid", request.uid.value}});
}

Result<ProcsRequest> decode_procs_request(std::string_view body) {
  const auto json = frame_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  ProcsRequest request;
  request.verb = members.enumeration("verb", ProcsRequest::Verb::holder_facts);
  request.key.pid.value = members.integer<std::int32_t>("pid");
  request.key.start_ticks = members.integer<std::uint64_t>("start");
  request.inode = members.integer<std::uint32_t>("inode");
  request.uid.value = members.integer<std::uint32_t>("uid");
  if (!members.ok()) return frame_misfit();
  return request;
}

std::string encode_facts(const Result<ProcessFacts>& facts) {
  if (!facts) return error_reply(facts.error());
  return frame_text({{"pid", facts->key.pid.value},
                     {"start", facts->key.start_ticks},
                     {"uid", facts->uid.value},
                     {"namespace_pid", facts->namespace_pid},
                     {"container", facts->container},
                     {"command", facts->command},
                     {"working_directory", facts->working_directory},
                     {"job", job_json(facts->job)},
                     {"holds_gpu", facts->holds_gpu},
                     {"torch_library", facts->torch_library},
                     {"ondemand_trace_dir", facts->ondemand_trace_dir},
                     {"kineto_config", facts->kineto_config},
                     {"ipc_socket_dir", facts->ipc_socket_dir},
                     {"uses_daemon", facts->uses_daemon},
                     {"missing", facts->missing}});
}

Result<ProcessFacts> decode_facts(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  ProcessFacts facts;
  facts.key.pid.value = members.integer<std::int32_t>("pid");
  facts.key.start_ticks = members.integer<std::uint64_t>("start");
  facts.uid.value = members.integer<std::uint32_t>("uid");
  facts.namespace_pid = members.integer<std::int32_t>("namespace_pid");
  facts.container = members.text("container");
  facts.command = members.text("command");
  facts.working_directory = members.text("working_directory");
  facts.holds_gpu = members.boolean("holds_gpu");
  facts.torch_library = members.text("torch_library");
  facts.ondemand_trace_dir = members.text("ondemand_trace_dir");
  facts.kineto_config = members.text("kineto_config");
  facts.ipc_socket_dir = members.text("ipc_socket_dir");
  facts.uses_daemon = members.boolean("uses_daemon");
  const Json* job = members.object("job");
  const Json* missing = members.array("missing", kMaxMissing);
  if (!members.ok()) return frame_misfit();
  auto job_facts = job_from(*job);
  auto sentences = missing_from(*missing);
  if (!job_facts || !sentences) return frame_misfit();
  facts.job = std::move(*job_facts);
  facts.missing = std::move(*sentences);
  return facts;
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
