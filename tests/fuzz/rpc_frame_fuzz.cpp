// Bytes of a stranger through the frame decoder: in pieces or at once, the frames are the same, and
// none is empty or above the limit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "net/framing.h"

namespace {

constexpr std::size_t kLimit = 4096;

struct Outcome {
  std::vector<std::string> frames;
  bool failed = false;
  auto operator<=>(const Outcome&) const = default;
};

void take_all(dynolog::FrameDecoder& decoder, Outcome& outcome) {
  while (!outcome.failed) {
    auto frame = decoder.next();
    if (!frame) {
      outcome.failed = true;
      static_cast<void>(decoder.looks_like_http());
    } else if (*frame) {
      if ((*frame)->empty() || (*frame)->size() > kLimit) std::abort();
      outcome.frames.push_back(std::move(**frame));
    } else {
      return;
    }
  }
}

Outcome decode(std::string_view bytes, std::size_t piece) {
  dynolog::FrameDecoder decoder(kLimit);
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size() && !outcome.failed; at += piece) {
    decoder.append(bytes.substr(at, piece));
    take_all(decoder, outcome);
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 64U;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Outcome whole = decode(bytes, bytes.size() + 1);
  if (decode(bytes, piece) != whole) std::abort();

  // What comes out goes back in.
  std::string again;
  for (const std::string& frame : whole.frames) again += dynolog::encode_frame(frame);
  if (!bytes.starts_with(again)) std::abort();
  return 0;
}
