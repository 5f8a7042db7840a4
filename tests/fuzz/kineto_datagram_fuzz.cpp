// Any bytes as a Kineto datagram: the decoder must refuse them or keep to its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>

#include "ipc/kineto_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = dynolog::decode_kineto(std::as_bytes(std::span(data, size)));
  if (!message) {
    if (message.error().message.empty()) std::abort();
    return 0;
  }
  if (const auto* poll = std::get_if<dynolog::KinetoPoll>(&*message)) {
    if (poll->pids.size() > dynolog::kMaxKinetoPids) std::abort();
    if (poll->idle != ((poll->type & 2) != 0)) std::abort();
  }
  return 0;
}
