// Opening paths inside another process's root, which that process may change at any time. Names are
// resolved by the kernel inside the root (openat2, RESOLVE_IN_ROOT); magic links never.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// "/x/y.json" as directory and name. Errors (invalid): not absolute, no name, "." or "..", a NUL,
// longer than the kernel takes.
struct SplitPath {
  std::string directory;
  std::string name;
};
[[nodiscard]] Result<SplitPath> split_path(std::string_view path);

// `flags` as open(2); O_CLOEXEC is added. A lookup that raced with a rename is tried again.
[[nodiscard]] Result<UniqueFd> open_in_root(int root, const std::string& path, int flags);
// The same, with the errno as the error.
[[nodiscard]] std::expected<UniqueFd, int> try_open_in_root(int root, const std::string& path,
                                                            int flags);

// A regular file for reading, at the end of links inside the root: looked at before it is opened,
// so a FIFO or device in its place is an error and is not touched.
[[nodiscard]] Result<UniqueFd> open_regular_in_root(int root, const std::string& path);

// The regular file behind an O_PATH descriptor, for reading. `what` names it in errors.
[[nodiscard]] Result<UniqueFd> reopen_regular(int path_fd, std::string_view what);

}  // namespace dynolog
