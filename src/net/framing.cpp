// Frames out of bytes, bounded.
#include "net/framing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace dynolog {
namespace {

constexpr std::size_t kHeader = sizeof(std::int32_t);
constexpr std::size_t kKeptCapacity = 64U << 10U;

// The first four bytes of every HTTP method, of HTTP/2's preface and of nothing that we frame: read
// as a length they are all above the limits.
constexpr std::array<std::string_view, 10> kHttpStarts = {"GET ", "POST", "HEAD", "PUT ", "DELE",
                                                          "OPTI", "PATC", "CONN", "TRAC", "PRI "};

}  // namespace

std::string encode_frame(std::string_view payload) {
  const auto length = static_cast<std::int32_t>(payload.size());
  std::string frame(kHeader + payload.size(), '\0');
  std::memcpy(frame.data(), &length, kHeader);
  std::copy(payload.begin(), payload.end(), frame.begin() + kHeader);
  return frame;
}

void FrameDecoder::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (taken_ > 0) {
    buffer_.erase(0, taken_);
    taken_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<std::string>> FrameDecoder::next() {
  const std::string_view held = std::string_view(buffer_).substr(taken_);
  if (held.size() < kHeader) return std::nullopt;
  std::int32_t length = 0;
  std::memcpy(&length, held.data(), kHeader);
  if (looks_like_http()) {
    return fail(ErrorKind::invalid, "this port speaks length-framed JSON, not HTTP");
  }
  if (held.starts_with("HTTP")) {  // the first bytes of a response
    return fail(ErrorKind::invalid,
                "an HTTP server answers here, not dynolog's RPC: perhaps this is the port of the "
                "page for Prometheus; --port takes that of the RPC (1778)");
  }
  if (length <= 0 || static_cast<std::size_t>(length) > max_bytes_) {
    return fail(ErrorKind::invalid,
                fmt::format("a frame's length is {}; it must be from 1 to {}", length, max_bytes_));
  }
  const auto size = static_cast<std::size_t>(length);
  if (held.size() - kHeader < size) return std::nullopt;
  std::string frame(held.substr(kHeader, size));
  taken_ += kHeader + size;
  if (taken_ == buffer_.size()) {
    buffer_.clear();
    taken_ = 0;
    if (buffer_.capacity() > kKeptCapacity) buffer_.shrink_to_fit();
  }
  return frame;
}

bool FrameDecoder::looks_like_http() const {
  const std::string_view held = std::string_view(buffer_).substr(taken_);
  return std::ranges::any_of(kHttpStarts,
                             [&](std::string_view start) { return held.starts_with(start); });
}

}  // namespace dynolog
