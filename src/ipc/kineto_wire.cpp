// Every read of a foreign byte of the Kineto protocol is here, behind a length check.
#include "ipc/kineto_wire.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace dynolog {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Header {
  std::uint64_t size;
  std::array<char, 32> type;
};
static_assert(sizeof(Header) == 40 && std::is_trivially_copyable_v<Header>);

struct PollBody {
  std::int32_t type;
  std::int32_t count;
  std::int64_t job;
};
static_assert(sizeof(PollBody) == 16 && std::is_trivially_copyable_v<PollBody>);

struct ContextBody {
  std::int32_t gpu;
  std::int32_t pid;
  std::int64_t job;
};
static_assert(sizeof(ContextBody) == 16 && std::is_trivially_copyable_v<ContextBody>);

constexpr std::int32_t kIdleBit = 0x2;

// The caller has checked the length.
template <class T>
T take(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Result<KinetoMessage> decode_poll(std::span<const std::byte> body) {
  if (body.size() < sizeof(PollBody)) {
    return fail(ErrorKind::invalid, fmt::format("req of {} bytes", body.size()));
  }
  const auto fixed = take<PollBody>(body);
  if (fixed.count < 0 || static_cast<std::size_t>(fixed.count) > kMaxKinetoPids) {
    return fail(ErrorKind::invalid, fmt::format("count {}", fixed.count));
  }
  const auto count = static_cast<std::size_t>(fixed.count);
  const auto list = body.subspan(sizeof(PollBody));
  if (list.size() != count * sizeof(std::int32_t)) {
    return fail(ErrorKind::invalid, fmt::format("count {} in {} bytes", count, list.size()));
  }
  KinetoPoll poll{.idle = (fixed.type & kIdleBit) != 0,
                  .type = fixed.type,
                  .job = fixed.job,
                  .pids = std::vector<std::int32_t>(count)};
  if (count > 0) std::memcpy(poll.pids.data(), list.data(), list.size());
  return poll;
}

Result<KinetoMessage> decode_context(std::span<const std::byte> body) {
  if (body.size() != sizeof(ContextBody)) {
    return fail(ErrorKind::invalid, fmt::format("ctxt of {} bytes", body.size()));
  }
  const auto fixed = take<ContextBody>(body);
  return KinetoContext{.gpu = fixed.gpu, .pid = fixed.pid, .job = fixed.job};
}

std::string encode(std::string_view type, std::string_view body) {
  Header header{};
  header.size = body.size();
  std::memcpy(header.type.data(), type.data(), type.size());
  std::string datagram(sizeof header, '\0');
  std::memcpy(datagram.data(), &header, sizeof header);
  datagram += body;
  return datagram;
}

}  // namespace

Result<KinetoMessage> decode_kineto(std::span<const std::byte> datagram) {
  if (datagram.empty()) return fail(ErrorKind::invalid, "empty");
  if (datagram.size() < sizeof(Header)) return fail(ErrorKind::invalid, "shorter than a header");
  if (datagram.size() > kMaxKinetoDatagram) return fail(ErrorKind::invalid, "too long");
  const auto header = take<Header>(datagram);
  const auto body = datagram.subspan(sizeof(Header));
  if (header.size != body.size()) {
    return fail(ErrorKind::invalid, fmt::format("size says {}, {} came", header.size, body.size()));
  }
  const std::size_t length = ::strnlen(header.type.data(), header.type.size());
  const std::string_view type(header.type.data(), length);
  if (length == header.type.size()) return fail(ErrorKind::invalid, "type without an end");
  if (type == "req") return decode_poll(body);
  if (type == "ctxt") return decode_context(body);
  return fail(ErrorKind::invalid, "unknown type");
}

std::string encode_kineto_reply(std::string_view config) { return encode("req", config); }

std::string encode_kineto_context_reply(std::int32_t count) {
  std::array<char, sizeof count> bytes{};
  std::memcpy(bytes.data(), &count, sizeof count);
  return encode("ctxt", {bytes.data(), bytes.size()});
}

}  // namespace dynolog
