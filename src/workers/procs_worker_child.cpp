// The procs worker's own side: answers one request after the other until the daemon goes.
#include <sys/resource.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "workers/holder_search.h"
#include "workers/process_reader.h"
#include "workers/process_scan.h"
#include "workers/procs_frames.h"
#include "workers/procs_worker.h"
#include "workers/request_channel.h"
#include "workers/scan_frames.h"

namespace dynolog {
namespace {

std::string answer(const ProcsRequest& request, const SystemRoot& root, int channel) {
  switch (request.verb) {
    case ProcsRequest::Verb::facts:
      return encode_facts(read_process_facts(root, request.key, [&](const ProcessFacts& early) {
        // Lost when the daemon does not read, which then has no use for it either.
        static_cast<void>(send_frame(channel, encode_numbered(0, encode_facts(early))));
      }));
    case ProcsRequest::Verb::socket_holders:
      return encode_holders(
          find_socket_holders(root, SystemClock(), request.inode, request.uid, SearchBudget{}));
    case ProcsRequest::Verb::scan:
      return encode_scan(scan_processes(root, SystemClock(), request, ScanBudget{}, [&](Pid pid) {
        static_cast<void>(send_frame(channel, encode_numbered(0, encode_looking(pid))));
      }));
    case ProcsRequest::Verb::host_look:
      return encode_host_look(look_at_host(root, request));
    case ProcsRequest::Verb::holder_facts: {
      auto holder = read_holder_facts(root, request.key.pid);
      if (!holder) return encode_holders(std::unexpected(std::move(holder.error())));
      return encode_holders(std::vector{std::move(*holder)});
    }
  }
  std::unreachable();
}

}  // namespace

int run_procs_worker(int channel, const SystemRoot& root) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::string frame;
  while (receive_frame(channel, frame)) {
    const auto numbered = decode_numbered(frame);
    if (!numbered) return 1;
    const auto request = decode_procs_request(numbered->body);
    if (!request) return 1;
    std::string reply = encode_numbered(numbered->number, answer(*request, root, channel));
    if (reply.size() > kMaxWorkerFrame) {
      reply = encode_numbered(numbered->number,
                              encode_facts(fail(ErrorKind::exhausted, "the answer is too large")));
    }
    if (!send_frame(channel, reply)) return 0;
  }
  return 0;
}

}  // namespace dynolog
