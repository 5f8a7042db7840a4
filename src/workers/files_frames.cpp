// JSON codec of the files worker's frames.
#include "workers/files_frames.h"

#include <climits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "traces/trace_summary_json.h"
#include "workers/frame_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;
using Verb = FilesRequest::Verb;

constexpr std::size_t kMaxPath = PATH_MAX;
constexpr std::size_t kMaxStamp = 128;

// What stands in the first line, and what follows it.
struct Parts {
  std::string_view line;
  std::string_view rest;
};
Parts split_body(std::string_view body) {
  const std::size_t newline = body.find('\n');
  if (newline == std::string_view::npos) return {body, {}};
  return {body.substr(0, newline), body.substr(newline + 1)};
}

std::string join_body(const Json& line, std::string_view rest) {
  std::string body = frame_text(line);
  body += '\n';
  body += rest;
  return body;
}

Json identities_json(const std::vector<FilesIdentity>& identities) {
  Json list = Json::array();
  for (const FilesIdentity& identity : identities) {
    list.push_back({{"pid", identity.process.pid.value},
                    {"start", identity.process.start_ticks},
                    {"uid", identity.uid.value}});
  }
  return list;
}

bool read_identities(FrameMembers& members, std::vector<FilesIdentity>& identities) {
  const Json* list = members.array("identities", kMaxFilesIdentities);
  if (list == nullptr) return false;
  for (const Json& item : *list) {
    if (!item.is_object()) return false;
    FrameMembers inner(item);
    FilesIdentity& identity = identities.emplace_back();
    identity.process.pid.value = inner.integer<std::int32_t>("pid");
    identity.process.start_ticks = inner.integer<std::uint64_t>("start");
    identity.uid.value = inner.integer<std::uint32_t>("uid");
    if (!inner.ok()) return false;
  }
  return true;
}

bool read_places(FrameMembers& members, PlacesAsked& places) {
  places.file = members.exact_text("file", kMaxPath);
  places.target = members.exact_text("target", kMaxPath);
  places.named = members.exact_text("named", kMaxPath);
  places.make_directories = members.boolean("make_directories");
  const Json* elsewhere = members.array("elsewhere", kMaxElsewhere);
  if (elsewhere == nullptr) return false;
  for (const Json& item : *elsewhere) {
    if (!item.is_string()) return false;
    places.elsewhere.push_back(item.get<std::string>());
    if (places.elsewhere.back().size() > kMaxPath) return false;
  }
  return members.ok();
}

bool read_order(FrameMembers& members, std::string_view rest, DeliveryOrder& order) {
  order.gzip = members.boolean("gzip");
  order.distributed_info = members.exact_text("distributed_info", kMaxDistributedInfo);
  order.side_car = rest;
  return members.ok() && rest.size() <= kMaxSideCar;
}

// The members that belong to the request's verb.
bool read_request(FrameMembers& members, std::string_view rest, FilesRequest& request) {
  switch (request.verb) {
    case Verb::identities:
      return read_identities(members, request.identities);
    case Verb::prepare:
      return read_places(members, request.places);
    case Verb::watch:
      request.trace_id = members.exact_text("trace_id", kMaxTraceIdText);
      request.expect = members.enumeration("expect", FilesWorker::Expect::snapshot);
      return members.ok();
    case Verb::deliver:
      return read_order(members, rest, request.order);
    case Verb::complete:
      request.distributed_info = members.exact_text("distributed_info", kMaxDistributedInfo);
      return members.ok();
    case Verb::read_chunk:
      request.offset = members.integer<std::uint64_t>("offset");
      return members.ok();
    case Verb::torch_facts:
      request.kineto_config = members.exact_text("kineto_config", kMaxPath);
      [[fallthrough]];
    case Verb::library_id:
      request.library = members.exact_text("library", kMaxPath);
      return members.ok();
    case Verb::discard:
      request.discard = members.enumeration("when", FilesWorker::Discard::when_closed);
      return members.ok();
    case Verb::unwatch:
    case Verb::release:
      return true;
  }
  std::unreachable();
}

Json answer_json(const DirectoryAnswer& answer) {
  return {{"usable", answer.usable},         {"unknown", answer.unknown},
          {"fault", answer.fault},           {"problem", answer.problem},
          {"free_bytes", answer.free_bytes}, {"file_exists", answer.file_exists},
          {"in_memory", answer.in_memory},   {"directory_id", answer.directory_id}};
}

std::optional<DirectoryAnswer> answer_from(const Json* json) {
  if (json == nullptr) return std::nullopt;
  FrameMembers members(*json);
  DirectoryAnswer answer;
  answer.usable = members.boolean("usable");
  answer.unknown = members.boolean("unknown");
  answer.fault = members.text("fault");
  answer.problem = members.text("problem");
  answer.directory_id = members.text("directory_id");
  answer.free_bytes = members.integer<std::uint64_t>("free_bytes");
  answer.file_exists = members.boolean("file_exists");
  answer.in_memory = members.boolean("in_memory");
  if (!members.ok()) return std::nullopt;
  return answer;
}

std::optional<FileCheck> check_from(const Json* json, std::string_view summary) {
  if (json == nullptr) return std::nullopt;
  FrameMembers members(*json);
  FileCheck check;
  check.checked = members.boolean("checked");
  check.whole = members.boolean("whole");
  check.ours = members.boolean("ours");
  check.problem = members.text("problem");
  if (!members.ok()) return std::nullopt;
  auto decoded = decode_trace_summary(summary);
  if (!decoded) return std::nullopt;
  check.summary = std::move(*decoded);
  return check;
}

// What is said twice must agree, and a piece lies within its file.
bool is_consistent(const FileChunk& chunk) {
  const bool beyond = chunk.offset >= chunk.total_bytes;
  if (chunk.data.size() > kMaxChunkData) return false;
  if (chunk.data.empty() || chunk.plain_bytes == 0 || beyond) {
    return chunk.data.empty() && chunk.plain_bytes == 0 && beyond && chunk.last;
  }
  const std::uint64_t left = chunk.total_bytes - chunk.offset;
  return chunk.plain_bytes <= left && chunk.last == (chunk.plain_bytes == left);
}

}  // namespace

std::string encode(const FilesRequest& request) {
  Json line = {{"verb", static_cast<int>(request.verb)}, {"pid", request.pid.value}};
  switch (request.verb) {
    case Verb::identities:
      line["identities"] = identities_json(request.identities);
      break;
    case Verb::prepare:
      line["file"] = request.places.file;
      line["elsewhere"] = request.places.elsewhere;
      line["target"] = request.places.target;
      line["named"] = request.places.named;
      line["make_directories"] = request.places.make_directories;
      break;
    case Verb::watch:
      line["trace_id"] = request.trace_id;
      line["expect"] = static_cast<int>(request.expect);
      break;
    case Verb::deliver:
      line["gzip"] = request.order.gzip;
      line["distributed_info"] = request.order.distributed_info;
      return join_body(line, request.order.side_car);
    case Verb::complete:
      line["distributed_info"] = request.distributed_info;
      break;
    case Verb::read_chunk:
      line["offset"] = request.offset;
      break;
    case Verb::torch_facts:
      line["kineto_config"] = request.kineto_config;
      [[fallthrough]];
    case Verb::library_id:
      line["library"] = request.library;
      break;
    case Verb::discard:
      line["when"] = static_cast<int>(request.discard);
      break;
    case Verb::unwatch:
    case Verb::release:
      break;
  }
  return frame_text(line);
}

Result<FilesRequest> decode_files_request(std::string_view body) {
  const auto [line, rest] = split_body(body);
  const auto json = frame_object(line);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  FilesRequest request;
  request.verb = members.enumeration("verb", Verb::torch_facts);
  request.pid.value = members.integer<std::int32_t>("pid");
  if (!members.ok() || !read_request(members, rest, request)) return frame_misfit();
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

std::string encode_prepared(const Result<PreparedPlaces>& prepared) {
  if (!prepared) return error_reply(prepared.error());
  return frame_text({{"file", answer_json(prepared->file)},
                     {"target", answer_json(prepared->target)},
                     {"one_file_system", prepared->one_file_system}});
}

Result<PreparedPlaces> decode_prepared(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  auto file = answer_from(members.object("file"));
  auto target = answer_from(members.object("target"));
  const bool one_file_system = members.boolean("one_file_system");
  if (!members.ok() || !file || !target) return frame_misfit();
  return PreparedPlaces{
      .file = std::move(*file), .target = std::move(*target), .one_file_system = one_file_system};
}

std::string encode_delivered(const Result<DeliveredFile>& delivered) {
  if (!delivered) return error_reply(delivered.error());
  return frame_text({{"path", delivered->path},
                     {"file_id", delivered->file_id},
                     {"bytes", delivered->bytes},
                     {"notes", delivered->notes}});
}

Result<DeliveredFile> decode_delivered(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  DeliveredFile delivered;
  delivered.path = members.text("path");
  delivered.file_id = members.text("file_id");
  delivered.bytes = members.integer<std::uint64_t>("bytes");
  const Json* notes = members.array("notes", kMaxDeliveryNotes);
  if (notes == nullptr) return frame_misfit();
  for (const Json& note : *notes) {
    if (!note.is_string()) return frame_misfit();
    delivered.notes.push_back(clean_text(note.get_ref<const std::string&>(), kMaxFrameText));
  }
  return delivered;
}

std::string encode_chunk(const Result<FileChunk>& chunk) {
  if (!chunk) return error_reply(chunk.error());
  return join_body({{"offset", chunk->offset},
                    {"plain_bytes", chunk->plain_bytes},
                    {"total_bytes", chunk->total_bytes},
                    {"crc32", chunk->crc32},
                    {"stamp", chunk->stamp},
                    {"last", chunk->last}},
                   chunk->data);
}

Result<FileChunk> decode_chunk(std::string_view body) {
  const auto [line, rest] = split_body(body);
  const auto json = reply_object(line);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  FileChunk chunk;
  chunk.offset = members.integer<std::uint64_t>("offset");
  chunk.plain_bytes = members.integer<std::uint64_t>("plain_bytes");
  chunk.total_bytes = members.integer<std::uint64_t>("total_bytes");
  chunk.crc32 = members.integer<std::uint32_t>("crc32");
  chunk.stamp = members.text("stamp");
  chunk.last = members.boolean("last");
  chunk.data = rest;
  if (!members.ok() || chunk.stamp.size() > kMaxStamp || !is_consistent(chunk)) {
    return frame_misfit();
  }
  return chunk;
}

std::string encode_discarded(const Result<bool>& removed) {
  if (!removed) return error_reply(removed.error());
  return frame_text({{"removed", *removed}});
}

Result<bool> decode_discarded(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  const bool removed = members.boolean("removed");
  if (!members.ok()) return frame_misfit();
  return removed;
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
  Json line = {{"pid", event.pid.value}, {"what", static_cast<int>(event.what)}};
  switch (event.what) {
    case FileEvent::What::written:
      line["path"] = event.path;
      line["check"] = {{"checked", event.check.checked},
                       {"whole", event.check.whole},
                       {"ours", event.check.ours},
                       {"problem", event.check.problem}};
      return join_body(line, encode_trace_summary(event.check.summary));
    case FileEvent::What::unwatchable:
      line["problem"] = event.problem;
      break;
    case FileEvent::What::temporary:
    case FileEvent::What::renamed:
    case FileEvent::What::progress:
      break;
  }
  return frame_text(line);
}

Result<FileEvent> decode_file_event(std::string_view body) {
  const auto [line, rest] = split_body(body);
  const auto json = frame_object(line);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  FileEvent event;
  event.pid.value = members.integer<std::int32_t>("pid");
  event.what = members.enumeration("what", FileEvent::What::progress);
  if (!members.ok()) return frame_misfit();
  if (event.what == FileEvent::What::unwatchable) event.problem = members.text("problem");
  if (event.what == FileEvent::What::written) {
    event.path = members.text("path");
    auto check = check_from(members.object("check"), rest);
    if (!check) return frame_misfit();
    event.check = std::move(*check);
  }
  if (!members.ok()) return frame_misfit();
  return event;
}

}  // namespace dynolog
