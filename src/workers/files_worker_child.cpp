// The files worker's own side: becomes the user, then serves requests and watches directories in
// one poll() until the daemon goes.
#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "artifacts/trace_directory.h"
#include "workers/drop_privileges.h"
#include "workers/files_frames.h"
#include "workers/files_worker.h"
#include "workers/owned_processes.h"
#include "workers/request_channel.h"
#include "workers/torch_probe.h"
#include "workers/trace_watcher.h"

namespace dynolog {
namespace {

struct HeldDirectory {
  std::string file;  // the path that prepare() was asked about
  TraceDirectory directory;
};

class FilesSession {
 public:
  FilesSession(OwnedProcesses owned, Result<DirectoryWatch> directories, TraceWatcher::Tell tell)
      : owned_(std::move(owned)) {
    if (directories) {
      watcher_.emplace(TraceWatcher(std::move(*directories), owned_.uid(), std::move(tell)));
    } else {
      unwatchable_ = std::move(directories.error());
    }
  }

  // -1, which poll() passes over, when nothing can be watched.
  [[nodiscard]] int fd() const { return watcher_ ? watcher_->fd() : -1; }
  void on_readable() { watcher_->on_readable(); }

  [[nodiscard]] std::string answer(const FilesRequest& request) {
    using Verb = FilesRequest::Verb;
    switch (request.verb) {
      case Verb::identities:
        return encode_status(fail(ErrorKind::denied, "the identities are taken once"));
      case Verb::prepare:
        return encode_prepared(prepare(request));
      case Verb::watch:
      case Verb::watch_snapshot:
        return encode_status(watch(request));
      case Verb::unwatch:
        if (watcher_) watcher_->unwatch(request.pid);
        return encode_status({});
      case Verb::library_id: {
        const auto root = owned_.root_of(request.pid);
        if (!root) return encode_library_id(std::unexpected(root.error()));
        return encode_library_id(torch_library_id(*root, request.path));
      }
      case Verb::torch_facts: {
        const auto root = owned_.root_of(request.pid);
        if (!root) return encode_torch(std::unexpected(root.error()));
        return encode_torch(probe_torch(*root, request.path, request.detail));
      }
    }
    std::unreachable();
  }

 private:
  Result<PreparedDirectory> prepare(const FilesRequest& request) {
    const auto root = owned_.root_of(request.pid);
    if (!root) return std::unexpected(root.error());
    auto look = look_at_trace_directory(*root, request.path, owned_.uid());
    if (!look) return std::unexpected(std::move(look.error()));
    PreparedDirectory prepared{.usable = look->usable,
                               .problem = std::move(look->problem),
                               .directory_id = {},
                               .free_bytes = look->free_bytes,
                               .file_exists = look->file_exists};
    held_.erase(request.pid);
    if (look->directory) {
      prepared.directory_id = look->directory->id;
      held_.emplace(request.pid, HeldDirectory{request.path, std::move(*look->directory)});
    }
    return prepared;
  }

  Status watch(const FilesRequest& request) {
    if (!watcher_) return std::unexpected(unwatchable_);
    const auto held = held_.find(request.pid);
    if (held == held_.end() || held->second.file != request.path) {
      return fail(ErrorKind::invalid, fmt::format("{} was not prepared", request.path));
    }
    TraceDirectory directory = std::move(held->second.directory);
    held_.erase(held);
    watcher_->watch(request.pid, std::move(directory), request.detail,
                    request.verb == FilesRequest::Verb::watch_snapshot);
    return {};
  }

  OwnedProcesses owned_;
  std::map<Pid, HeldDirectory> held_;
  std::optional<TraceWatcher> watcher_;
  Error unwatchable_;  // without a watcher: why
};

// The first frame names the processes. A refusal is answered, so that the daemon can say why.
std::optional<FilesSession> begin(int channel, const SystemRoot& root) {
  std::string frame;
  if (!receive_frame(channel, frame)) return std::nullopt;
  const auto numbered = decode_numbered(frame);
  if (!numbered) return std::nullopt;
  const auto request = decode_files_request(numbered->body);
  if (!request || request->verb != FilesRequest::Verb::identities) return std::nullopt;

  const auto refuse = [&](const Error& error) {
    static_cast<void>(send_frame(
        channel, encode_numbered(numbered->number, encode_status(std::unexpected(error)))));
    return std::nullopt;
  };
  auto owned = OwnedProcesses::take(root, request->identities);
  if (!owned) return refuse(owned.error());
  if (!send_frame(channel, encode_numbered(numbered->number, encode_status({})))) {
    return std::nullopt;
  }
  return std::optional<FilesSession>(
      std::in_place, std::move(*owned), DirectoryWatch::make(), [channel](const FileEvent& event) {
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
  auto session = begin(channel, root);
  if (!session) return 1;
  while (true) {
    std::array<pollfd, 2> ready = {pollfd{.fd = channel, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = session->fd(), .events = POLLIN, .revents = 0}};
    if (::poll(ready.data(), ready.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return 1;
    }
    if (ready[1].revents != 0) session->on_readable();
    if (ready[0].revents != 0 && !serve_one(channel, *session)) return 0;
  }
}

}  // namespace dynolog
