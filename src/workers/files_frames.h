// The files worker's requests, replies and events as bodies of frames: one line of JSON, and after
// it, for those that carry more, a newline and the rest as it is (a side-car, a summary, a piece of
// a file). Both sides decode the other's as hostile input: a body that does not fit is an error
// (invalid), never an exception or a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "workers/files_worker.h"

namespace dynolog {

inline constexpr std::size_t kMaxTraceIdText = 256;
inline constexpr std::size_t kMaxDeliveryNotes = 16;

// What the verb needs is set; the rest is not sent.
struct FilesRequest {
  enum class Verb {
    identities,
    prepare,
    watch,
    unwatch,
    deliver,
    complete,
    read_chunk,
    release,
    discard,
    library_id,
    torch_facts
  };
  Verb verb = Verb::identities;
  Pid pid;
  std::vector<FilesIdentity> identities;
  PlacesAsked places;                                       // prepare
  std::string trace_id;                                     // watch
  FilesWorker::Expect expect = FilesWorker::Expect::trace;  // watch
  DeliveryOrder order;                                      // deliver
  std::string distributed_info;                             // complete
  std::uint64_t offset = 0;                                 // read_chunk
  FilesWorker::Discard discard = FilesWorker::Discard::at_once;
  std::string library;        // library_id, torch_facts
  std::string kineto_config;  // torch_facts
};
[[nodiscard]] std::string encode(const FilesRequest& request);
[[nodiscard]] Result<FilesRequest> decode_files_request(std::string_view body);

// A reply is its value or an error; decoding gives the worker's error as the error.
[[nodiscard]] std::string encode_status(const Status& status);
[[nodiscard]] Status decode_status(std::string_view body);
[[nodiscard]] std::string encode_prepared(const Result<PreparedPlaces>& prepared);
[[nodiscard]] Result<PreparedPlaces> decode_prepared(std::string_view body);
[[nodiscard]] std::string encode_delivered(const Result<DeliveredFile>& delivered);
[[nodiscard]] Result<DeliveredFile> decode_delivered(std::string_view body);
[[nodiscard]] std::string encode_chunk(const Result<FileChunk>& chunk);
[[nodiscard]] Result<FileChunk> decode_chunk(std::string_view body);
[[nodiscard]] std::string encode_discarded(const Result<bool>& removed);
[[nodiscard]] Result<bool> decode_discarded(std::string_view body);
[[nodiscard]] std::string encode_torch(const Result<TorchFacts>& facts);
[[nodiscard]] Result<TorchFacts> decode_torch(std::string_view body);
[[nodiscard]] std::string encode_library_id(const Result<std::string>& id);
[[nodiscard]] Result<std::string> decode_library_id(std::string_view body);

[[nodiscard]] std::string encode(const FileEvent& event);
[[nodiscard]] Result<FileEvent> decode_file_event(std::string_view body);

}  // namespace dynolog
