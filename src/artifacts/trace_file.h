// A finished trace file: opened without following anything, checked to be the process's own.
#pragma once

#include <cstdint>
#include <functional>
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

// Opens the trace: a regular file of `owner` with one link. An error (denied) says what it is
// instead, in a sentence.
[[nodiscard]] Result<UniqueFd> open_trace(const TraceDirectory& directory, Uid owner);

// Opens and streams it; `meanwhile` as in summarise_trace().
[[nodiscard]] Result<TraceSummary> check_trace(const TraceDirectory& directory, Uid owner,
                                               std::function<void()> meanwhile = {});

// Opens a memory snapshot and says whether it is a whole pickle: the only other file that Kineto
// writes on request.
[[nodiscard]] Result<TraceSummary> check_snapshot(const TraceDirectory& directory, Uid owner);

// Whether `text` stands near the file's beginning or end, where Kineto writes its ids: a cheap test
// before a whole check.
[[nodiscard]] bool mentions(int fd, std::string_view text);

}  // namespace dynolog
