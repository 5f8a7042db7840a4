// The RPC's frames: int32 length in native byte order, then that many bytes of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

inline constexpr std::size_t kMaxRequestBytes = 1U << 20U;
// A client reads larger answers (process lists of a big host), but not without a limit.
inline constexpr std::size_t kMaxReplyBytes = 64U << 20U;

[[nodiscard]] std::string encode_frame(std::string_view payload);

// Takes bytes in any pieces and gives whole frames. Pure: no sockets.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Never allocates ahead of the bytes that came: a length of 2^31-1 costs nothing.
  void append(std::string_view bytes);
  // The next whole frame; nullopt when more bytes are needed; an error (kind invalid: negative,
  // zero or too large a length, or HTTP spoken here, see looks_like_http) is final.
  [[nodiscard]] Result<std::optional<std::string>> next();
  // True when the first bytes are an HTTP request line ("GET ", "POST ", ...).
  [[nodiscard]] bool looks_like_http() const;
  // True when part of a frame is held.
  [[nodiscard]] bool partial() const { return taken_ < buffer_.size(); }

 private:
  std::size_t max_bytes_;
  std::string buffer_;
  std::size_t taken_ = 0;  // bytes at the front of buffer_ that were given out as frames
};

}  // namespace dynolog
