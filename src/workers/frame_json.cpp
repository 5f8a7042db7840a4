// Bounded decoding of the workers' JSON.
#include "workers/frame_json.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;

bool nests_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  bool escaped = false;
  for (const char c : text) {
    if (in_string) {
      in_string = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxFrameDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

ErrorKind kind_from(int number) {
  const bool known = number >= 0 && number <= static_cast<int>(ErrorKind::exhausted);
  return known ? static_cast<ErrorKind>(number) : ErrorKind::failed;
}

}  // namespace

std::string frame_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> frame_object(std::string_view body) {
  if (nests_too_deep(body)) return fail(ErrorKind::invalid, "a worker's frame nests too deep");
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return fail(ErrorKind::invalid, "a worker's frame is not an object");
  return json;
}

Result<Json> reply_object(std::string_view body) {
  auto json = frame_object(body);
  if (!json || !json->contains("error")) return json;
  FrameMembers members(*json);
  const Json* error = members.object("error");
  if (error == nullptr) return frame_misfit();
  FrameMembers inner(*error);
  const ErrorKind kind = kind_from(inner.integer<int>("kind"));
  std::string message = inner.text("message");
  if (!inner.ok()) return frame_misfit();
  return fail(kind, std::move(message));
}

std::string error_reply(const Error& error) {
  return frame_text(
      {{"error", {{"kind", static_cast<int>(error.kind)}, {"message", error.message}}}});
}

std::unexpected<Error> frame_misfit() {
  return fail(ErrorKind::invalid, "a worker's frame has a member missing or of a wrong type");
}

bool FrameMembers::boolean(const char* name) {
  const auto found = object_.find(name);
  ok_ = ok_ && found != object_.end() && found->is_boolean();
  return ok_ && found->get<bool>();
}

std::string FrameMembers::text(const char* name) {
  const auto found = object_.find(name);
  ok_ = ok_ && found != object_.end() && found->is_string();
  if (!ok_) return {};
  return clean_text(found->get_ref<const std::string&>(), kMaxFrameText);
}

std::string FrameMembers::exact_text(const char* name, std::size_t max_bytes) {
  const auto found = object_.find(name);
  ok_ = ok_ && found != object_.end() && found->is_string() &&
        found->get_ref<const std::string&>().size() <= max_bytes;
  return ok_ ? found->get<std::string>() : std::string();
}

const Json* FrameMembers::object(const char* name) {
  const auto found = object_.find(name);
  ok_ = ok_ && found != object_.end() && found->is_object();
  return ok_ ? &*found : nullptr;
}

const Json* FrameMembers::array(const char* name, std::size_t max_size) {
  const auto found = object_.find(name);
  ok_ = ok_ && found != object_.end() && found->is_array() && found->size() <= max_size;
  return ok_ ? &*found : nullptr;
}

bool FrameMembers::has(const char* name) const { return object_.contains(name); }

std::int64_t FrameMembers::signed_number(const char* name, std::int64_t least, std::int64_t most) {
  const auto found = object_.find(name);
  ok_ = ok_ && found != object_.end() && found->is_number_integer();
  if (!ok_) return 0;
  if (found->is_number_unsigned() && !std::in_range<std::int64_t>(found->get<std::uint64_t>())) {
    ok_ = false;
    return 0;
  }
  const auto value = found->get<std::int64_t>();
  ok_ = value >= least && value <= most;
  return ok_ ? value : 0;
}

std::uint64_t FrameMembers::unsigned_number(const char* name, std::uint64_t most) {
  const auto found = object_.find(name);
  ok_ = ok_ && found != object_.end() && found->is_number_unsigned();
  if (!ok_) return 0;
  const auto value = found->get<std::uint64_t>();
  ok_ = value <= most;
  return ok_ ? value : 0;
}

}  // namespace dynolog
