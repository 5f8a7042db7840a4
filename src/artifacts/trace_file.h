// A finished trace file: opened without following anything, checked to be the process's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "artifacts/trace_directory.h"
#include "base/error.h"
#include "base/ids.h"
#include "traces/trace_check.h"

namespace dynolog {

// Which file stands under a name at one instant. Equal stamps: nothing was written since.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t bytes = 0;
  auto operator<=>(const FileStamp&) const = default;
};
// nullopt when there is no such name, or it cannot be looked at. Links are not followed.
[[nodiscard]] std::optional<FileStamp> stamp_of(const TraceDirectory& directory,
                                                const std::string& name);
// Of the file that is open.
[[nodiscard]] Result<FileStamp> stamp_of(int fd);

// Whether a regular file of `owner` with one link stands under the name: false when nothing does;
// an error (denied) says that it is anything else.
[[nodiscard]] Result<bool> is_plain_file_of(const TraceDirectory& directory,
                                            const std::string& name, Uid owner);

// An error (unavailable) when a process has the regular file under the name open, for writing at
// least, or the kernel does not say: it tells the file's owner. Called as the owner, with SIGIO
// ignored.
[[nodiscard]] Status nobody_has_open(const TraceDirectory& directory, const std::string& name);

// Opens the trace: a regular file of `owner` with one link. An error (denied) says what it is
// instead, in a sentence.
[[nodiscard]] Result<UniqueFd> open_trace(const TraceDirectory& directory, Uid owner);

// Whether `text` stands near the file's beginning or end, where Kineto writes its ids: a cheap test
// before a whole check.
[[nodiscard]] bool mentions(int fd, std::string_view text);

}  // namespace dynolog
