// A file that lines are appended to, within a bound: when it is full it becomes FILE.1, FILE.1
// becomes FILE.2, and the oldest goes. Somebody else's rotation, such as logrotate's, is noticed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "sinks/options.h"

namespace dynolog {

class RotatingFile {
 public:
  // Appends to a file as open_own_file() has it; makes it with mode 0640: events say who traced
  // whose processes. What is no regular file (a pipe, a terminal) is written to as it is.
  [[nodiscard]] static Result<RotatingFile> open(std::string path, FileRotation rotation);

  // Before a line of so many bytes: makes room, and opens the path anew when it has become another
  // file or none. On an error the file that is open stays so.
  [[nodiscard]] Status prepare(std::size_t line_bytes);
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  RotatingFile(std::string path, FileRotation rotation)
      : path_(std::move(path)), rotation_(rotation) {}
  [[nodiscard]] Status reopen();
  [[nodiscard]] Status rotate();

  std::string path_;
  FileRotation rotation_;
  UniqueFd fd_;
  bool is_regular_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace dynolog
