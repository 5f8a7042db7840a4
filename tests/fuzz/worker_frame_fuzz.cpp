// Any bytes as a worker's frame, to every decoder of both sides; what is accepted can be sent
// again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workers/files_frames.h"
#include "workers/procs_frames.h"
#include "workers/request_channel.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynolog;  // NOLINT: a program of its own
  const std::string_view frame(reinterpret_cast<const char*>(data), size);
  const auto numbered = decode_numbered(frame);
  const std::string_view body = numbered ? numbered->body : frame;
  if (const auto facts = decode_facts(body); facts && !decode_facts(encode_facts(facts))) {
    std::abort();
  }
  if (const auto holders = decode_holders(body);
      holders && !decode_holders(encode_holders(holders))) {
    std::abort();
  }
  if (const auto request = decode_procs_request(body); request) {
    if (!decode_procs_request(encode(*request))) std::abort();
  }
  if (const auto request = decode_files_request(body); request) {
    if (!decode_files_request(encode(*request))) std::abort();
  }
  if (const auto prepared = decode_prepared(body); prepared) {
    if (!decode_prepared(encode_prepared(prepared))) std::abort();
  }
  if (const auto torch = decode_torch(body); torch && !decode_torch(encode_torch(torch))) {
    std::abort();
  }
  if (const auto event = decode_file_event(body); event && !decode_file_event(encode(*event))) {
    std::abort();
  }
  static_cast<void>(decode_status(body));
  static_cast<void>(decode_library_id(body));
  return 0;
}
