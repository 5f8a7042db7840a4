// The directory that a trace is to be written to, as the process sees it: looked at as the
// process's owner, and held by descriptor from then on, whatever happens to its path.
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
};

// What stands in the way of a trace, and what the user should know before starting one.
struct DirectoryLook {
  std::optional<TraceDirectory> directory;  // unset when there is none
  bool usable = false;
  std::string problem;  // a sentence that says what to do, "" when usable
  std::uint64_t free_bytes = 0;
  bool file_exists = false;
};

// Called as the owner (after privileges are dropped). `root` is the process's root directory. An
// error when the path is not one that can be looked at: for uid 0, whose processes may have more
// capabilities than the worker kept, that says nothing about what they can write.
[[nodiscard]] Result<DirectoryLook> look_at_trace_directory(int root, const std::string& file,
                                                            Uid owner);

}  // namespace dynolog
