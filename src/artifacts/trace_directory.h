// The directory that a trace is to be written to, or brought to, as the process sees it: looked at
// as the process's owner, and held by descriptor from then on, whatever happens to its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/ids.h"
#include "base/unique_fd.h"

namespace dynolog {

struct TraceDirectory {
  UniqueFd fd;       // O_PATH
  std::string path;  // as the process names it, for sentences
  std::string name;  // of the trace's file in it
  std::string id;    // "dev:inode"
  std::uint64_t device = 0;
  std::uint64_t mount = 0;  // 0 when the kernel does not say (before Linux 5.8)
};

// What Kineto calls the file until it is whole.
[[nodiscard]] std::string temporary_name(const TraceDirectory& directory);

struct DirectoryUse {
  // What the directory is for: the process itself writes `<name>.tmp` and renames it, or this
  // worker delivers `<name>` there.
  bool delivery = false;
  // Makes what is missing of the directory (0755, at most 64 components), as the owner. What was
  // made stays.
  bool make = false;
};

// What stands in the way of a trace, and what the user should know before starting one.
struct DirectoryLook {
  std::optional<TraceDirectory> directory;  // unset when there is none, or it cannot be reached
  bool usable = false;
  // Not usable, but perhaps by the worker's fault alone: it holds none of the capabilities that
  // processes of uid 0 may have, and none of the owner's tickets (Kerberos) or namespaces (private
  // FUSE mounts). The process may be able to write there; the worker is not.
  bool unknown = false;
  std::string problem;  // a sentence that says what to do, "" when usable
  std::string fault;    // the same without what to do
  std::uint64_t free_bytes = 0;
  bool file_exists = false;
  bool in_memory = false;  // tmpfs, ramfs
};

// Called as the owner (after privileges are dropped), from the only thread. `root` is the process's
// root directory. An error when the path is not one that can be looked at.
[[nodiscard]] Result<DirectoryLook> look_at_trace_directory(int root, const std::string& file,
                                                            Uid owner, DirectoryUse use = {});

// Whether a rename from one to the other can work. (Where it says yes, copying may still be needed:
// file systems have boundaries of their own.)
[[nodiscard]] bool on_one_file_system(const TraceDirectory& one, const TraceDirectory& other);

// Whether the path still leads to the directory that is held: what is written into one that was
// moved away lies elsewhere.
[[nodiscard]] bool lies_at_its_path(int root, const TraceDirectory& directory);

// Why a file cannot be brought to `name`: a sentence, or "" when nothing stands there, or a plain
// file of `owner`, which is replaced.
[[nodiscard]] std::string problem_of_target(const TraceDirectory& directory,
                                            const std::string& name, Uid owner, bool& file_exists);

}  // namespace dynolog
