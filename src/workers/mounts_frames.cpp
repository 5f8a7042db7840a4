// Codec of the mounts worker's frames.
#include "workers/mounts_frames.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "net/child_process.h"
#include "workers/frame_json.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxPattern = 8192;
// Of JSON that nothing is escaped in; six times as much is the most, and a frame still holds it.
constexpr std::size_t kPartText = 16U << 10U;
static_assert(6 * kPartText + 4096 < kMaxWorkerFrame);
constexpr std::size_t kMaxPath = 4096;

Json filter_json(const NameFilterOptions& filter) {
  return {{"include", filter.include}, {"exclude", filter.exclude}};
}

std::optional<NameFilterOptions> filter_from(const Json* json) {
  if (json == nullptr) return std::nullopt;
  FrameMembers members(*json);
  NameFilterOptions filter{.include = members.exact_text("include", kMaxPattern),
                           .exclude = members.exact_text("exclude", kMaxPattern)};
  if (!members.ok()) return std::nullopt;
  return filter;
}

Json mount_json(const MountUsage& usage) {
  Json json = {{"device", usage.mount.device},
               {"point", usage.mount.mount_point},
               {"type", usage.mount.type},
               {"ro", usage.mount.read_only},
               {"state", static_cast<int>(usage.state)}};
  if (usage.state == MountState::read) {
    json["size"] = usage.room.size;
    json["free"] = usage.room.free;
    json["available"] = usage.room.available;
    json["files"] = usage.room.files;
    json["files_free"] = usage.room.files_free;
  } else if (usage.state == MountState::failed) {
    json["problem"] = usage.problem;
  }
  return json;
}

std::optional<MountUsage> mount_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  FrameMembers members(json);
  MountUsage usage;
  usage.mount.device = members.text("device");
  usage.mount.mount_point = members.text("point");
  usage.mount.type = members.text("type");
  usage.mount.read_only = members.boolean("ro");
  usage.state = members.enumeration("state", MountState::not_reached);
  if (!members.ok()) return std::nullopt;
  if (usage.state == MountState::read) {
    usage.room.size = members.integer<std::uint64_t>("size");
    usage.room.free = members.integer<std::uint64_t>("free");
    usage.room.available = members.integer<std::uint64_t>("available");
    usage.room.files = members.integer<std::uint64_t>("files");
    usage.room.files_free = members.integer<std::uint64_t>("files_free");
  } else if (usage.state == MountState::failed) {
    usage.problem = members.text("problem");
  }
  if (!members.ok()) return std::nullopt;
  return usage;
}

}  // namespace

std::string encode(const MountsRequest& request) {
  return frame_text({{"verb", static_cast<int>(request.verb)},
                     {"points", filter_json(request.mount_points)},
                     {"types", filter_json(request.types)},
                     {"directory", request.directory},
                     {"units", request.units}});
}

Result<MountsRequest> decode_mounts_request(std::string_view body) {
  const auto json = frame_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  MountsRequest request;
  request.verb = members.enumeration("verb", MountsRequest::Verb::units);
  auto points = filter_from(members.object("points"));
  auto types = filter_from(members.object("types"));
  request.directory = members.exact_text("directory", kMaxPath);
  const Json* units = members.array("units", kMaxUnits);
  if (!members.ok() || !points || !types) return frame_misfit();
  for (const Json& unit : *units) {
    if (!unit.is_string() || unit.get_ref<const std::string&>().size() > kMaxUnitName) {
      return frame_misfit();
    }
    request.units.push_back(unit.get<std::string>());
  }
  request.mount_points = std::move(*points);
  request.types = std::move(*types);
  return request;
}

std::vector<std::string> encode_mounts(std::span<const MountUsage> mounts) {
  constexpr std::size_t kFixed = 160;  // names of members and numbers
  std::vector<std::string> parts;
  Json array = Json::array();
  std::size_t text = 0;
  for (const MountUsage& usage : mounts) {
    const std::size_t size = usage.mount.device.size() + usage.mount.mount_point.size() +
                             usage.mount.type.size() + usage.problem.size() + kFixed;
    if (text + size > kPartText && !array.empty()) {
      parts.push_back(frame_text({{"mounts", std::exchange(array, Json::array())}}));
      text = 0;
    }
    array.push_back(mount_json(usage));
    text += size;
  }
  parts.push_back(frame_text({{"mounts", std::move(array)}}));
  return parts;
}

Result<std::vector<MountUsage>> decode_mounts(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  const Json* array = members.array("mounts", kMaxMounts);
  if (array == nullptr) return frame_misfit();
  std::vector<MountUsage> mounts;
  for (const Json& item : *array) {
    auto usage = mount_from(item);
    if (!usage) return frame_misfit();
    mounts.push_back(std::move(*usage));
  }
  return mounts;
}

std::string encode(const TextFilePart& part) {
  return frame_text(
             {{"path", part.path}, {"modified", part.modified_s}, {"problem", part.problem}}) +
         "\n" + part.bytes;
}

Result<TextFilePart> decode_text_file_part(std::string_view body) {
  const std::size_t newline = body.find('\n');
  const auto json = reply_object(body.substr(0, newline));
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  TextFilePart part;
  part.path = members.text("path");
  part.modified_s = members.integer<std::int64_t>("modified");
  part.problem = members.text("problem");
  if (!members.ok() || newline == std::string_view::npos) return frame_misfit();
  part.bytes = body.substr(newline + 1);
  return part;
}

std::string encode_units(std::span<const UnitState> units) {
  Json array = Json::array();
  for (const UnitState& unit : units) {
    array.push_back(
        {{"name", unit.name}, {"load", unit.load}, {"state", unit.state}, {"type", unit.type}});
  }
  return frame_text({{"units", std::move(array)}});
}

Result<std::vector<UnitState>> decode_units(std::string_view body) {
  const auto json = reply_object(body);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  const Json* array = members.array("units", kMaxUnits);
  if (array == nullptr) return frame_misfit();
  std::vector<UnitState> units;
  for (const Json& item : *array) {
    if (!item.is_object()) return frame_misfit();
    FrameMembers unit(item);
    units.push_back({.name = unit.text("name"),
                     .load = unit.text("load"),
                     .state = unit.text("state"),
                     .type = unit.text("type")});
    if (!unit.ok()) return frame_misfit();
  }
  return units;
}

std::string encode_mounts_error(const Error& error) { return error_reply(error); }

}  // namespace dynolog
