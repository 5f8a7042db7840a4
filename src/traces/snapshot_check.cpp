// By the first byte and the last: a pickle is closed by its own mark.
#include "traces/snapshot_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace dynolog {

Result<TraceSummary> check_snapshot(int fd) {
  constexpr char kProtocol = '\x80';  // opens a pickle of protocol 2 or later
  constexpr char kStop = '.';         // closes every pickle
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, "looking at the snapshot");
  TraceSummary summary;
  summary.bytes = static_cast<std::uint64_t>(status.st_size);
  summary.file_bytes = summary.bytes;
  char first = 0;
  char last = 0;
  if (status.st_size > 1 &&
      (::pread(fd, &first, 1, 0) != 1 || ::pread(fd, &last, 1, status.st_size - 1) != 1)) {
    return fail_errno(errno, "reading the snapshot");
  }
  summary.whole = first == kProtocol && last == kStop;
  if (!summary.whole) summary.problem = "the file is not a whole pickle";
  return summary;
}

}  // namespace dynolog
