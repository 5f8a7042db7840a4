// The members of a process's facts.
#include "workers/facts_json.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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
               {"allocation", job.allocation},
               {"step", job.step},
               {"rank_source", static_cast<int>(job.rank_source)},
               {"launcher", job.launcher},
               {"launched", job.launched}};
  if (job.rank) json["rank"] = *job.rank;
  if (job.local_rank) json["local_rank"] = *job.local_rank;
  if (job.world_size) json["world_size"] = *job.world_size;
  if (job.local_world_size) json["local_world_size"] = *job.local_world_size;
  return json;
}

std::optional<JobFacts> job_from(const Json& json) {
  FrameMembers members(json);
  JobFacts job;
  job.scheduler = members.text("scheduler");
  job.job.value = members.text("id");
  job.allocation = members.text("allocation");
  job.step = members.text("step");
  job.rank = members.maybe_integer<int>("rank");
  job.local_rank = members.maybe_integer<int>("local_rank");
  job.world_size = members.maybe_integer<int>("world_size");
  job.local_world_size = members.maybe_integer<int>("local_world_size");
  job.launcher = members.boolean("launcher");
  job.launched = members.boolean("launched");
  job.rank_source = members.enumeration("rank_source", RankSource::title);
  if (!members.ok()) return std::nullopt;
  return job;
}

}  // namespace

std::optional<std::vector<std::string>> texts_from(const Json& array) {
  std::vector<std::string> texts;
  for (const Json& sentence : array) {
    if (!sentence.is_string()) return std::nullopt;
    texts.push_back(clean_text(sentence.get_ref<const std::string&>(), kMaxFrameText));
  }
  return texts;
}

// Device numbers and pids: none of them is negative.
std::optional<std::vector<std::int32_t>> numbers_from(const Json& array) {
  std::vector<std::int32_t> numbers;
  for (const Json& item : array) {
    if (!item.is_number_unsigned()) return std::nullopt;
    const auto number = item.get<std::uint64_t>();
    if (number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    numbers.push_back(static_cast<std::int32_t>(number));
  }
  return numbers;
}

nlohmann::json facts_json(const ProcessFacts& facts) {
  Json ancestors = Json::array();
  for (const Pid pid : facts.ancestors) ancestors.push_back(pid.value);
  return {{"pid", facts.key.pid.value},
          {"start", facts.key.start_ticks},
          {"uid", facts.uid.value},
          {"namespace_pid", facts.namespace_pid},
          {"parent", facts.parent.value},
          {"ancestors", std::move(ancestors)},
          {"thread_name", facts.thread_name},
          {"container", facts.container},
          {"command", facts.command},
          {"working_directory", facts.working_directory},
          {"job", job_json(facts.job)},
          {"holds_gpu", facts.holds_gpu},
          {"gpus", facts.gpus},
          {"torch_library", facts.torch_library},
          {"ondemand_trace_dir", facts.ondemand_trace_dir},
          {"kineto_config", facts.kineto_config},
          {"ipc_socket_dir", facts.ipc_socket_dir},
          {"uses_daemon", facts.uses_daemon},
          {"kineto_init_delay", facts.kineto_init_delay},
          {"cuda_visible_devices", facts.cuda_visible_devices},
          {"descriptors_read", facts.descriptors_read},
          {"environment_read", facts.environment_read},
          {"mapped_files_read", facts.mapped_files_read},
          {"complete", facts.complete},
          {"missing", facts.missing}};
}

std::optional<ProcessFacts> facts_from_json(const nlohmann::json& json) {
  FrameMembers members(json);
  ProcessFacts facts;
  facts.key.pid.value = members.integer<std::int32_t>("pid");
  facts.key.start_ticks = members.integer<std::uint64_t>("start");
  facts.uid.value = members.integer<std::uint32_t>("uid");
  facts.namespace_pid = members.integer<std::int32_t>("namespace_pid");
  facts.parent.value = members.integer<std::int32_t>("parent");
  facts.thread_name = members.text("thread_name");
  facts.container = members.text("container");
  facts.command = members.text("command");
  facts.working_directory = members.text("working_directory");
  facts.holds_gpu = members.boolean("holds_gpu");
  facts.torch_library = members.text("torch_library");
  facts.ondemand_trace_dir = members.text("ondemand_trace_dir");
  facts.kineto_config = members.text("kineto_config");
  facts.ipc_socket_dir = members.text("ipc_socket_dir");
  facts.uses_daemon = members.boolean("uses_daemon");
  facts.kineto_init_delay = members.text("kineto_init_delay");
  facts.cuda_visible_devices = members.text("cuda_visible_devices");
  facts.descriptors_read = members.boolean("descriptors_read");
  facts.environment_read = members.boolean("environment_read");
  facts.mapped_files_read = members.boolean("mapped_files_read");
  facts.complete = members.boolean("complete");
  const Json* job = members.object("job");
  const Json* missing = members.array("missing", kMaxMissing);
  const Json* ancestors = members.array("ancestors", kMaxAncestors);
  const Json* gpus = members.array("gpus", kMaxHeldGpus);
  if (!members.ok()) return std::nullopt;
  auto job_facts = job_from(*job);
  auto sentences = texts_from(*missing);
  auto devices = numbers_from(*gpus);
  const auto pids = numbers_from(*ancestors);
  if (!job_facts || !sentences || !devices || !pids) return std::nullopt;
  facts.job = std::move(*job_facts);
  facts.missing = std::move(*sentences);
  facts.gpus = std::move(*devices);
  for (const std::int32_t pid : *pids) facts.ancestors.push_back(Pid{pid});
  return facts;
}

}  // namespace dynolog
