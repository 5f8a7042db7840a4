// Directories inside another process's root that are opened as far as they exist, and made where
// they do not.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "artifacts/file_system.h"
#include "base/ids.h"
#include "base/unique_fd.h"

namespace dynolog {

// Why a directory is not to be had.
struct Refusal {
  int error = 0;                            // errno; 0 when it was not the kernel
  std::string problem;                      // a sentence that says what to do
  std::string fault = {};                   // the same without what to do, where that is known
  FileSystem below = FileSystem::ordinary;  // of the deepest directory that was reached
};

// How far a path leads: the longest beginning of it that opens as a directory, O_PATH.
struct DeepestDirectory {
  UniqueFd fd;             // not valid when not even the root does
  std::size_t length = 0;  // of the path's beginning
};
[[nodiscard]] DeepestDirectory deepest_in_root(int root, const std::string& path);

// Makes what is missing of `path` (0755), each directory in the one held before it, and none
// through a link: who swaps one for something else meanwhile gets an error, not a directory
// elsewhere. O_PATH, of the last. The caller is the owner, and the only thread.
[[nodiscard]] std::expected<UniqueFd, Refusal> make_directories(int root, const std::string& path,
                                                                Uid owner);

}  // namespace dynolog
