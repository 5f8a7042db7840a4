// `--worker=files`: all file work on a user's behalf. One worker per session and tenant; it opens
// the process's root, drops its privileges for good, and holds its directory descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/system_root.h"
#include "net/child_process.h"
#include "net/event_loop.h"
#include "processes/process_facts.h"
#include "profiling/process_trace.h"

namespace dynolog {

// The child's main: serves requests from the channel until it is closed. Returns the exit status.
int run_files_worker(int channel, const SystemRoot& root);

// Can this process write that file? Answered as the process's owner, inside its root.
struct PreparedDirectory {
  bool usable = false;
  std::string problem;       // "no such directory", "not writable for user alice", ...
  std::string directory_id;  // "dev:inode": equal for two processes that see the same directory
  std::uint64_t free_bytes = 0;
  bool file_exists = false;  // a file of that name is already there
};

// What happens to the file of one process, in order: temporary (not always seen), renamed (it is
// there, and is going to be checked: large ones take seconds), then written.
// `unwatchable`: nothing more is to be expected.
struct FileEvent {
  enum class What { temporary, renamed, written, unwatchable };
  Pid pid;
  What what = What::temporary;
  FileCheck check;      // with written
  std::string problem;  // with unwatchable
};

// A process that a worker serves. The worker compares its start time and effective uid with what
// /proc says, opens its root, and then becomes that user for good.
struct FilesIdentity {
  ProcessKey process;
  Uid uid;
};
inline constexpr std::size_t kMaxFilesIdentities = 1024;

// On the loop's thread only; no callback runs inside a call nor after the object's end.
class FilesWorker {
 public:
  using OnEvent = std::function<void(FileEvent)>;
  // `identities` are all processes of one session and one tenant: at least one, of one uid, since
  // no root can be opened later. One that has ended by now only fails its own requests. `on_end` is
  // called once if the worker ends, refuses or is too late; whatever was under way has then failed.
  [[nodiscard]] static Result<std::unique_ptr<FilesWorker>> start(
      EventLoop& loop, Log& log, std::string executable, std::vector<FilesIdentity> identities,
      OnEvent on_event, std::function<void(std::string why)> on_end);
  virtual ~FilesWorker() = default;

  // Looks at (and from then on holds) the directory of `path` as `pid`'s process sees it.
  virtual void prepare(Pid pid, std::string path,
                       std::function<void(Result<PreparedDirectory>)> done) = 0;
  // Watches for `<path>.tmp` and its rename to `<path>`, then checks the file: whole JSON, our
  // trace id, its events. Needs a prepare() with the same pid and path before; what does not work
  // is told as `unwatchable`. `trace_id` "" when the client writes none. A file that stands there
  // already counts only when it carries the trace id (a restarted daemon looks again). A snapshot
  // is a pickle without an id: it is checked to be whole.
  enum class Expect { trace, snapshot };
  virtual void watch(Pid pid, std::string path, std::string trace_id, Expect expect) = 0;
  virtual void unwatch(Pid pid) = 0;
  // "dev:inode:mtime:size" of the library: cheap, the key under which torch_facts() can be kept.
  virtual void torch_library_id(Pid pid, std::string library,
                                std::function<void(Result<std::string>)> done) = 0;
  // Reads torch/version.py beside the library and probes the library's strings; reads the base
  // configuration (/etc/libkineto.conf, or `kineto_config` where that is set).
  virtual void torch_facts(Pid pid, std::string library, std::string kineto_config,
                           std::function<void(Result<TorchFacts>)> done) = 0;
};

}  // namespace dynolog
