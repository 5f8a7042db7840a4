// Opening, noticing and renaming.
#include "sinks/rotating_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/own_file.h"

namespace dynolog {

Result<RotatingFile> RotatingFile::open(std::string path, FileRotation rotation) {
  RotatingFile file(std::move(path), rotation);
  if (auto opened = file.reopen(); !opened) return std::unexpected(std::move(opened.error()));
  return file;
}

Status RotatingFile::reopen() {
  auto fd = open_own_file(path_, 0640);
  if (!fd) return std::unexpected(std::move(fd.error()));
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0) return fail_errno(errno, path_);
  fd_ = std::move(*fd);
  // /dev/stdout is not ours to be renamed, even where it leads to a file.
  is_regular_ = S_ISREG(status.st_mode) && !names_descriptor(path_);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return {};
}

Status RotatingFile::prepare(std::size_t line_bytes) {
  if (!is_regular_) return {};
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) return reopen();
  if (status.st_dev != device_ || status.st_ino != inode_) {
    if (auto opened = reopen(); !opened) return opened;
    if (!is_regular_ || ::fstat(fd_.get(), &status) != 0) return {};
  }
  // A line that is larger than a file has one to itself.
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (rotation_.max_bytes == 0 || size == 0 || size + line_bytes <= rotation_.max_bytes) return {};
  return rotate();
}

Status RotatingFile::rotate() {
  if (rotation_.keep == 0) {
    if (::ftruncate(fd_.get(), 0) != 0) return fail_errno(errno, "emptying " + path_);
    return {};
  }
  for (std::size_t number = rotation_.keep; number > 1; --number) {
    const std::string from = fmt::format("{}.{}", path_, number - 1);
    if (::rename(from.c_str(), fmt::format("{}.{}", path_, number).c_str()) != 0 &&
        errno != ENOENT) {
      return fail_errno(errno, "rotating " + from);
    }
  }
  if (::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) {
    return fail_errno(errno, "rotating " + path_);
  }
  return reopen();
}

}  // namespace dynolog
