// A procs worker for the tests of scans. DYNOLOG_TEST_WORKER makes it a bad one: "scan-hangs" (at
// process 700), "host-hangs", "scan-repeats" (always says to go on at the same pid), "garbage",
// "wrong-number", "exit".
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/system_root.h"
#include "net/child_process.h"
#include "workers/procs_frames.h"
#include "workers/procs_worker.h"
#include "workers/request_channel.h"
#include "workers/scan_frames.h"

namespace {

using namespace dynolog;  // NOLINT: a program of its own

ScannedProcess process(int pid) {
  ScannedProcess made;
  made.facts.key.pid = Pid{pid};
  return made;
}

void say(std::uint64_t number, const std::string& body) {
  static_cast<void>(send_frame(kWorkerChannelFd, encode_numbered(number, body)));
}

// "" where the request is to hang.
std::string answer(const ProcsRequest& request, std::string_view how) {
  if (request.verb == ProcsRequest::Verb::host_look) {
    return how == "host-hangs" ? "" : encode_host_look(HostLook{});
  }
  if (how == "scan-hangs" && request.key.pid.value == 0) {
    say(0, encode_looking(Pid{701}));
    say(0, encode_looking(Pid{700}));
    return "";
  }
  ScanReply reply;
  reply.processes = {process(6), process(5)};
  if (how == "scan-repeats") reply.next = Pid{5};
  return encode_scan(reply);
}

int misbehave(std::string_view how) {
  std::string frame;
  while (receive_frame(kWorkerChannelFd, frame)) {
    if (how == "exit") return 3;
    const auto numbered = decode_numbered(frame);
    if (how == "garbage") {
      say(numbered->number, "nonsense");
    } else if (how == "wrong-number") {
      say(numbered->number + 1, "{}");
    } else {
      const std::string reply = answer(*decode_procs_request(numbered->body), how);
      if (!reply.empty()) say(numbered->number, reply);
    }
  }
  return 0;
}

}  // namespace

int main() {
  if (const char* how = std::getenv("DYNOLOG_TEST_WORKER")) return misbehave(how);
  return run_procs_worker(kWorkerChannelFd, SystemRoot{});
}
