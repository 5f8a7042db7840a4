// Reading whole small files, bounded; and files that are kept open and read again.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// The whole file, at most `max_bytes`; a larger one is an error of kind exhausted. O_NONBLOCK and
// O_CLOEXEC, so a FIFO in the way does not hang the caller.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

// The rest of an open descriptor, at most `max_bytes`.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t max_bytes);

// All of `bytes`, retrying short writes.
[[nodiscard]] Status write_all(int fd, std::string_view bytes);

// Writes a temporary beside `path` with `mode` and renames it into place: readers see the old or
// the new content. Not synced to disk: for what need not outlive a crash of the host.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view content, unsigned mode);

// What a kernel file is made of. One piece: what comes at once is all of it. Records (lines,
// mostly) of at most 512 bytes: the kernel hands out pages that it fills with whole records, so
// that one with more room than such a record needs was the last. Else only a further reading tells
// the end, and some files (counters of /proc/sys, tables of sockets) are made up anew for it.
enum class Records { any, short_ones, one_piece };

// A /proc or /sys file that stays valid: opened once, read again from offset 0 into a buffer that
// only grows, so that the steady state allocates nothing. After an error the file is opened anew at
// the next read.
class KeptFile {
 public:
  explicit KeptFile(std::string path, Records records = Records::any)
      : path_(std::move(path)), records_(records) {}

  // The view is valid until the next read() or the object's end.
  [[nodiscard]] Result<std::string_view> read();
  // The same with an errno for an error (EFBIG: too large), and no allocation even then: for files
  // that this host need not have.
  [[nodiscard]] std::expected<std::string_view, int> read_if_there();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  Records records_;
  UniqueFd fd_;
  std::string buffer_;
};

}  // namespace dynolog
