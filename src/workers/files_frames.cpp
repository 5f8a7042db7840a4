// JSON codec of the files worker's frames.
#include "workers/files_frames.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "workers/frame_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

std::optional<FilesIdentity> identity_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  FrameMembers members(json);
  FilesIdentity identity;
  identity.process.pid.value = members.integer<std::int32_t>("pid");
  identity.process.start_ticks = members.integer<std::uint64_t>("start");
  identity.uid.value = members.integer<std::uint32_t>("uid");
  if (!members.ok()) return std::nullopt;
  return identity;
}

Json check_json(const FileCheck& check) {
  return {{"checked", check.checked}, {"whole", check.whole}, {"ours", check.ours},
          {"events", check.events},   {"bytes", check.bytes}, {"trace_id", check.trace_id},
          {"problem", check.problem}};
}

std::optional<FileCheck> check_from(const Json& json) {
  FrameMembers members(json);
  FileCheck check;
  check.checked = members.boolean("checked");
  check.whole = members.boolean("whole");
  check.ours = members.boolean("ours");
  check.events = members.integer<std::uint64_t>("events");
  check.bytes = members.integer<std::uint64_t>("bytes");
  check.trace_id = members.text("trace_id");
  check.problem = members.text("problem");
  if (!members.ok()) return std::nullopt;
  return check;
}

}  // namespace

std::string encode(const FilesRequest& request) {
  Json identities = Json::array();
  for (const FilesIdentity& identity : request.identities) {
    identities.push_back({{"pid", identity.process.pid.value},
                          {"start", identity.process.start_ticks},
                          {"uid", identity.uid.value}});
  }
  return frame_text({{"verb", static_cast<int>(request.verb)},
                     {"pid", request.pid.value},
                     {"path", request.path},
                     {"detail", request.detail},
                     {"identities", std::move(identities)}});
}

Result<FilesRequest> decode_files_request(std::string_view body) {
  const auto json = frame_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  FilesRequest request;
  request.verb = members.enumeration("verb", FilesRequest::Verb::torch_facts);
  request.pid.value = members.integer<std::int32_t>("pid");
  request.path = members.text("path");
  request.detail = members.text("detail");
  const Json* identities = members.array("identities", kMaxFilesIdentities);
  if (!members.ok()) return frame_misfit();
  for (const Json& item : *identities) {
    const auto identity = identity_from(item);
    if (!identity) return frame_misfit();
    request.identities.push_back(*identity);
  }
  return request;
}

std::string encode_status(const Status& status) {
  if (!status) return error_reply(status.error());
  return frame_text(Json::object());
}

Status decode_status(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  return {};
}

std::string encode_prepared(const Result<PreparedDirectory>& prepared) {
  if (!prepared) return error_reply(prepared.error());
  return frame_text({{"usable", prepared->usable},
                     {"problem", prepared->problem},
                     {"directory_id", prepared->directory_id},
                     {"free_bytes", prepared->free_bytes},
                     {"file_exists", prepared->file_exists}});
}

Result<PreparedDirectory> decode_prepared(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  PreparedDirectory prepared;
  prepared.usable = members.boolean("usable");
  prepared.problem = members.text("problem");
  prepared.directory_id = members.text("directory_id");
  prepared.free_bytes = members.integer<std::uint64_t>("free_bytes");
  prepared.file_exists = members.boolean("file_exists");
  if (!members.ok()) return frame_misfit();
  return prepared;
}

std::string encode_torch(const Result<TorchFacts>& facts) {
  if (!facts) return error_reply(facts.error());
  return frame_text({{"version", facts->version},
                     {"ondemand_trace_dir", facts->knows_ondemand_trace_dir},
                     {"trace_id", facts->knows_trace_id},
                     {"memory_snapshot", facts->knows_memory_snapshot},
                     {"modules_and_stacks", facts->knows_modules_and_stacks},
                     {"base_configuration", facts->has_base_configuration},
                     {"poll_interval_s", facts->poll_interval_s}});
}

Result<TorchFacts> decode_torch(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  TorchFacts facts;
  facts.version = members.text("version");
  facts.knows_ondemand_trace_dir = members.boolean("ondemand_trace_dir");
  facts.knows_trace_id = members.boolean("trace_id");
  facts.knows_memory_snapshot = members.boolean("memory_snapshot");
  facts.knows_modules_and_stacks = members.boolean("modules_and_stacks");
  facts.has_base_configuration = members.boolean("base_configuration");
  facts.poll_interval_s = members.integer<int>("poll_interval_s");
  if (!members.ok()) return frame_misfit();
  return facts;
}

std::string encode_library_id(const Result<std::string>& id) {
  if (!id) return error_reply(id.error());
  return frame_text({{"library_id", *id}});
}

Result<std::string> decode_library_id(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  std::string id = members.text("library_id");
  if (!members.ok()) return frame_misfit();
  return id;
}

std::string encode(const FileEvent& event) {
  return frame_text({{"pid", event.pid.value},
                     {"what", static_cast<int>(event.what)},
                     {"check", check_json(event.check)},
                     {"problem", event.problem}});
}

Result<FileEvent> decode_file_event(std::string_view body) {
  const auto json = frame_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  FileEvent event;
  event.pid.value = members.integer<std::int32_t>("pid");
  event.what = members.enumeration("what", FileEvent::What::unwatchable);
  event.problem = members.text("problem");
  const Json* check = members.object("check");
  if (!members.ok()) return frame_misfit();
  auto decoded = check_from(*check);
  if (!decoded) return frame_misfit();
  event.check = std::move(*decoded);
  return event;
}

}  // namespace dynolog
