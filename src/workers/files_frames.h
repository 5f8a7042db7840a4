// The files worker's requests, replies and events as JSON bodies. Both sides decode the other's as
// hostile input: a body that does not fit is an error (invalid), never an exception or a crash.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "workers/files_worker.h"

namespace dynolog {

struct FilesRequest {
  enum class Verb { identities, prepare, watch, watch_snapshot, unwatch, library_id, torch_facts };
  Verb verb = Verb::identities;
  Pid pid;
  std::string path;    // the trace's file, or the library
  std::string detail;  // watch: the trace id; torch_facts: KINETO_CONFIG
  std::vector<FilesIdentity> identities;
};
[[nodiscard]] std::string encode(const FilesRequest& request);
[[nodiscard]] Result<FilesRequest> decode_files_request(std::string_view body);

// A reply is its value or an error; decoding gives the worker's error as the error.
[[nodiscard]] std::string encode_status(const Status& status);
[[nodiscard]] Status decode_status(std::string_view body);
[[nodiscard]] std::string encode_prepared(const Result<PreparedDirectory>& prepared);
[[nodiscard]] Result<PreparedDirectory> decode_prepared(std::string_view body);
[[nodiscard]] std::string encode_torch(const Result<TorchFacts>& facts);
[[nodiscard]] Result<TorchFacts> decode_torch(std::string_view body);
[[nodiscard]] std::string encode_library_id(const Result<std::string>& id);
[[nodiscard]] Result<std::string> decode_library_id(std::string_view body);

[[nodiscard]] std::string encode(const FileEvent& event);
[[nodiscard]] Result<FileEvent> decode_file_event(std::string_view body);

}  // namespace dynolog
