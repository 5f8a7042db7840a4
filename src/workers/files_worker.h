// `--worker=files`: all file work on a user's behalf. One worker per session and tenant; it opens
// the process's root, drops its privileges for good, and holds its directory descriptors.
//
// The life of one process's file:  prepare -> watch -> (written) -> deliver, or read_chunk and
// release. Whatever of ours is left at the end is taken away by discard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artifacts/delivery.h"
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

// Where one process's trace may lie; all paths as the process sees them.
inline constexpr std::size_t kMaxElsewhere = 4;
struct PlacesAsked {
  std::string file;  // what Kineto will write: watched
  // Where a client that does not do as it is told writes instead; looked at as well, at most
  // kMaxElsewhere. One whose directory cannot be looked at is passed over.
  std::vector<std::string> elsewhere;
  std::string target;  // where the file is to lie in the end; "" when it is to be brought
  std::string named;   // what was asked for, where `target` has more in its name; else ""
  bool make_directories = false;  // those of `target`, 0755 less the owner's usual mask
};

// One directory, looked at as the process's owner inside its root.
struct DirectoryAnswer {
  bool usable = false;
  // Not usable, but that may be the worker's own fault: it holds none of the owner's tickets
  // (Kerberos), capabilities (uid 0) or namespaces (private FUSE mounts). The process may write.
  bool unknown = false;
  std::string fault;         // "no such directory", "not writable for user alice", ...
  std::string problem;       // the same with what to do
  std::string directory_id;  // "dev:inode": equal for two processes that see the same directory
  std::uint64_t free_bytes = 0;
  bool file_exists = false;  // a file of that name is already there
  bool in_memory = false;    // tmpfs, ramfs: what is written counts as the job's memory
};
struct PreparedPlaces {
  DirectoryAnswer file;          // of PlacesAsked::file
  DirectoryAnswer target;        // of PlacesAsked::target; default when that is ""
  bool one_file_system = false;  // so that delivery is a rename
};

// What happens to the file of one process, in order: temporary (not always seen), renamed (it is
// there, and is going to be checked: large ones take seconds), then written.
// `unwatchable`: nothing more is to be expected. `progress`: a long check, copy or compression goes
// on; it changes nothing but says that the worker is alive.
struct FileEvent {
  enum class What { temporary, renamed, written, unwatchable, progress };
  Pid pid;
  What what = What::temporary;
  FileCheck check;      // with written
  std::string path;     // with written: where it lies, in the process's view
  std::string problem;  // with unwatchable
};

inline constexpr std::size_t kMaxSideCar = 64U << 10U;
inline constexpr std::size_t kMaxDistributedInfo = 8U << 10U;
struct DeliveryOrder {
  bool gzip = false;             // "<target>.gz" then, unless target ends in .gz already
  std::string distributed_info;  // a JSON object for a trace that has none; "": leave it alone
  std::string side_car;          // JSON text for .dynolog/<name>.json beside the target; "": none
};

// A piece of a written file, as a gzip member of its own: such members in a row are a gzip file.
inline constexpr std::size_t kMaxChunkData = 48U << 10U;
struct FileChunk {
  std::uint64_t offset = 0;       // of the plain file
  std::uint64_t plain_bytes = 0;  // of this piece
  std::uint64_t total_bytes = 0;  // of the plain file
  std::uint32_t crc32 = 0;        // of the plain bytes
  std::string stamp;              // of the file; other stamps are other contents
  std::string data;               // at most kMaxChunkData, not text
  bool last = false;
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

  // Looks at (and from then on holds) the directories as `pid`'s process sees them. A second call
  // for the same pid replaces the first.
  virtual void prepare(Pid pid, PlacesAsked places,
                       std::function<void(Result<PreparedPlaces>)> done) = 0;
  // Watches for `<file>.tmp` and its rename to `<file>`, there and elsewhere, then checks the file:
  // whole JSON, our trace id, what is in it. Needs a prepare() of the same pid before; what does
  // not work is told as `unwatchable`. `trace_id` "" when the client writes none. A file that
  // stands there already, or elsewhere, counts only when it carries the trace id (a restarted
  // daemon looks again). A snapshot is a pickle without an id: it is checked to be whole, and one
  // that lies elsewhere counts when it came after the watch, and is whole and the owner's.
  enum class Expect { trace, snapshot };
  virtual void watch(Pid pid, std::string trace_id, Expect expect) = 0;
  virtual void unwatch(Pid pid) = 0;  // its directories stay held
  // After `written` of a file that is ours: brings the file that was checked (by its descriptor,
  // whatever stands under its name by now) to the target. Nothing of it is lost when this fails:
  // the error says where the file is, and why (no room, over quota, ...).
  virtual void deliver(Pid pid, DeliveryOrder order,
                       std::function<void(Result<DeliveredFile>)> done) = 0;
  // After `written`, without a target: adds what deliver() would add to the file.
  virtual void complete(Pid pid, std::string distributed_info,
                        std::function<void(Status)> done) = 0;
  // After `written`: the piece at `offset`. An offset at or beyond the end gives an empty last one.
  virtual void read_chunk(Pid pid, std::uint64_t offset,
                          std::function<void(Result<FileChunk>)> done) = 0;
  // After `written`: the file was brought elsewhere, and is removed.
  virtual void release(Pid pid, std::function<void(Status)> done) = 0;
  // Removes the `<file>.tmp` that the process left, if it is a plain file of its own. True when
  // there was one. For after the trace's end: a snapshot leaves an empty one beside itself.
  // `when_closed`: the process may go on with it, so only if no process has it open; an error
  // (unavailable) then when one has, or that is not known.
  enum class Discard { at_once, when_closed };
  virtual void discard(Pid pid, Discard when, std::function<void(Result<bool>)> removed) = 0;
  // "dev:inode:mtime:size" of the library: cheap, the key under which torch_facts() can be kept.
  virtual void torch_library_id(Pid pid, std::string library,
                                std::function<void(Result<std::string>)> done) = 0;
  // Reads torch/version.py beside the library and probes the library's strings; reads the base
  // configuration (/etc/libkineto.conf, or `kineto_config` where that is set).
  virtual void torch_facts(Pid pid, std::string library, std::string kineto_config,
                           std::function<void(Result<TorchFacts>)> done) = 0;
};

}  // namespace dynolog
