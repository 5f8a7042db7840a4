// The frames between the daemon and its workers, on arbitrary bytes: a worker that was taken over
// must not reach the daemon. Each decoder gives a value or an error, and a value survives a second
// trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "workers/files_frames.h"
#include "workers/procs_frames.h"

namespace {

using namespace dynolog;

template <class Decode, class Encode>
void there_and_back(std::string_view body, Decode decode, Encode encode) {
  const auto first = decode(body);
  if (!first) return;
  const std::string again = encode(*first);
  const auto second = decode(again);
  if (!second || encode(*second) != again) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto encoded = [](const auto& value) { return encode(value); };
  there_and_back(body, decode_procs_request, encoded);
  there_and_back(body, decode_facts, [](const auto& value) { return encode_facts(value); });
  there_and_back(body, decode_holders, [](const auto& value) { return encode_holders(value); });
  there_and_back(body, decode_files_request, encoded);
  there_and_back(body, decode_prepared, [](const auto& value) { return encode_prepared(value); });
  there_and_back(body, decode_torch, [](const auto& value) { return encode_torch(value); });
  there_and_back(body, decode_library_id,
                 [](const auto& value) { return encode_library_id(value); });
  there_and_back(body, decode_file_event, encoded);
  (void)decode_status(body);
  return 0;
}
