// A program that is nothing but the workers, for tests: dispatches --worker=... as the daemon does.
// DYNOLOG_TEST_WORKER makes it a bad one: "silent", "early" (facts that cannot block, then
// silence), "garbage", "wrong-number", "exit", "nonsense" (a files worker's answers that say
// nothing, or something else than was asked for), "busy" (events for ever).
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/system_root.h"
#include "net/child_process.h"
#include "workers/files_frames.h"
#include "workers/files_worker.h"
#include "workers/mounts_worker.h"
#include "workers/procs_frames.h"
#include "workers/procs_worker.h"
#include "workers/request_channel.h"

namespace {

using namespace dynolog;  // NOLINT: a program of its own

void answer_nonsense(std::string_view frame) {
  const FileChunk chunk{.offset = 7,
                        .plain_bytes = 3,
                        .total_bytes = 20,
                        .crc32 = 0,
                        .stamp = "1:2:20",
                        .data = "abc",
                        .last = false};
  const auto numbered = decode_numbered(frame);
  const bool reads = decode_files_request(numbered->body)->verb == FilesRequest::Verb::read_chunk;
  static_cast<void>(send_frame(
      kWorkerChannelFd, encode_numbered(numbered->number, reads ? encode_chunk(chunk) : "{}")));
}

int misbehave(std::string_view how) {
  while (how == "busy" && send_frame(kWorkerChannelFd, encode_numbered(0, "{}"))) {
  }
  std::string frame;
  while (receive_frame(kWorkerChannelFd, frame)) {
    if (how == "exit") return 3;
    if (how == "garbage") static_cast<void>(send_frame(kWorkerChannelFd, "nonsense"));
    if (how == "wrong-number") {
      static_cast<void>(send_frame(kWorkerChannelFd, encode_numbered(99, "{}")));
    }
    if (how == "nonsense") answer_nonsense(frame);
    if (how == "early") {
      const auto request = decode_procs_request(decode_numbered(frame)->body);
      ProcessFacts facts;
      facts.key = request->key;
      facts.uid = Uid{77};
      static_cast<void>(send_frame(kWorkerChannelFd, encode_numbered(0, encode_facts(facts))));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (const char* how = std::getenv("DYNOLOG_TEST_WORKER")) return misbehave(how);
  const SystemRoot root;
  if (kind == "--worker=procs") return run_procs_worker(kWorkerChannelFd, root);
  if (kind == "--worker=mounts") {
    // A mount of the test's own may hang.
    const auto read = [hung = std::getenv("DYNOLOG_TEST_HUNG_MOUNT")](const std::string& point) {
      while (hung != nullptr && point == hung) ::pause();
      return read_mount_room(point);
    };
    return run_mounts_worker(
        kWorkerChannelFd, root, read,
        {.patience = std::chrono::milliseconds(200), .longest = std::chrono::seconds(5)});
  }
  if (kind == "--worker=files") return run_files_worker(kWorkerChannelFd, root);
  return 2;
}
