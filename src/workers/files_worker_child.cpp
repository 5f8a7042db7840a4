// The files worker's own side: becomes the user, then serves requests and watches directories in
// one poll() until the daemon goes.
#include <poll.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "workers/drop_privileges.h"
#include "workers/files_frames.h"
#include "workers/files_worker.h"
#include "workers/files_worker_session.h"
#include "workers/owned_processes.h"
#include "workers/request_channel.h"

namespace dynolog {
namespace {

// The first frame names the processes. A refusal is answered, so that the daemon can say why.
std::unique_ptr<FilesSession> begin(int channel, const SystemRoot& root, const Clock& clock) {
  std::string frame;
  if (!receive_frame(channel, frame)) return nullptr;
  const auto numbered = decode_numbered(frame);
  if (!numbered) return nullptr;
  const auto request = decode_files_request(numbered->body);
  if (!request || request->verb != FilesRequest::Verb::identities) return nullptr;

  auto owned = OwnedProcesses::take(root, request->identities);
  const Status taken = owned ? Status() : std::unexpected(owned.error());
  if (!send_frame(channel, encode_numbered(numbered->number, encode_status(taken))) || !taken) {
    return nullptr;
  }
  return std::make_unique<FilesSession>(
      std::move(*owned), DirectoryWatch::make(), clock, [channel](const FileEvent& event) {
        static_cast<void>(send_frame(channel, encode_numbered(0, encode(event))));
      });
}

// False when the daemon is gone or breaks the protocol.
bool serve_one(int channel, FilesSession& session) {
  std::string frame;
  if (!receive_frame(channel, frame)) return false;
  const auto numbered = decode_numbered(frame);
  if (!numbered) return false;
  const auto request = decode_files_request(numbered->body);
  if (!request) return false;
  return send_frame(channel, encode_numbered(numbered->number, session.answer(*request)))
      .has_value();
}

}  // namespace

int run_files_worker(int channel, const SystemRoot& root) {
  limit_resources();
  // Of somebody who opens a file on which a lease is held for a moment.
  ::signal(SIGIO, SIG_IGN);
  const SystemClock clock;
  const auto session = begin(channel, root, clock);
  if (!session) return 1;
  while (true) {
    std::array<pollfd, 2> ready = {pollfd{.fd = channel, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = session->fd(), .events = POLLIN, .revents = 0}};
    if (::poll(ready.data(), ready.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return 1;
    }
    // Before the request too: it may be about what has just come.
    session->look_around();
    if (ready[0].revents == 0) continue;
    if (!serve_one(channel, *session)) return 0;
    session->look_around();
  }
}

}  // namespace dynolog
