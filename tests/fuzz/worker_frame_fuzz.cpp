// Any bytes as a worker's frame, to every decoder of both sides; what is accepted can be sent
// again. And as the files of a user's that workers read beside traces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "workers/files_frames.h"
#include "workers/mounts_frames.h"
#include "workers/procs_frames.h"
#include "workers/request_channel.h"
#include "workers/scan_frames.h"
#include "workers/torch_probe.h"

namespace {

using namespace dynolog;  // NOLINT: a program of its own

template <class Value, class Decode, class Encode>
void expect_again(const Value& value, Decode decode, Encode encode) {
  if (value && !decode(encode(value))) std::abort();
}

void try_procs_frames(std::string_view body) {
  expect_again(decode_facts(body), decode_facts, encode_facts);
  expect_again(decode_holders(body), decode_holders, encode_holders);
  expect_again(decode_procs_request(body), decode_procs_request,
               [](const auto& request) { return encode(*request); });
  expect_again(decode_scan(body), decode_scan, encode_scan);
  expect_again(decode_host_look(body), decode_host_look, encode_host_look);
  static_cast<void>(decode_looking(body));
}

void try_files_frames(std::string_view body) {
  expect_again(decode_files_request(body), decode_files_request,
               [](const auto& request) { return encode(*request); });
  expect_again(decode_file_event(body), decode_file_event,
               [](const auto& event) { return encode(*event); });
  expect_again(decode_prepared(body), decode_prepared, encode_prepared);
  expect_again(decode_delivered(body), decode_delivered, encode_delivered);
  expect_again(decode_chunk(body), decode_chunk, encode_chunk);
  expect_again(decode_discarded(body), decode_discarded, encode_discarded);
  expect_again(decode_torch(body), decode_torch, encode_torch);
  expect_again(decode_library_id(body), decode_library_id, encode_library_id);
  static_cast<void>(decode_status(body));
}

void try_mounts_frames(std::string_view body) {
  expect_again(decode_mounts_request(body), decode_mounts_request,
               [](const auto& request) { return encode(*request); });
  expect_again(decode_text_file_part(body), decode_text_file_part,
               [](const auto& part) { return encode(*part); });
  expect_again(decode_mounts(body), decode_mounts,
               [](const auto& mounts) { return encode_mounts(*mounts).front(); });
  expect_again(decode_units(body), decode_units,
               [](const auto& units) { return encode_units(*units); });
}

void try_files_of_pytorch(std::string_view text) {
  const std::string version = torch_version_in(text);
  if (version.size() > 64 || clean_text(version, 64) != version) std::abort();
  if (poll_interval_in(text) < 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view frame(reinterpret_cast<const char*>(data), size);
  const auto numbered = decode_numbered(frame);
  const std::string_view body = numbered ? numbered->body : frame;
  try_procs_frames(body);
  try_files_frames(body);
  try_mounts_frames(body);
  try_files_of_pytorch(frame);
  return 0;
}
