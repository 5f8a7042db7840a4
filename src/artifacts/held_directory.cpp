// fstatat, mkdirat, O_TMPFILE and renameat on held descriptors.
#include "artifacts/held_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/random.h"

namespace dynolog {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr mode_t kDirectoryMode = 0755;

// Hidden, and not a name that any reader of traces takes for one.
std::string temporary_name() { return fmt::format(".dynolog-{}.tmp", random_hex64()); }

}  // namespace

std::string to_string(FileId id) { return fmt::format("{}:{}", id.device, id.inode); }

std::optional<FileId> id_behind(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return FileId{.device = status.st_dev, .inode = status.st_ino};
}

std::optional<FileId> id_under(int directory, const std::string& name) {
  struct stat status{};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return FileId{.device = status.st_dev, .inode = status.st_ino};
}

std::string_view kind_of_file(mode_t mode) {
  if (S_ISREG(mode)) return "a plain file";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::string joined(std::string_view directory, std::string_view name) {
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

int make_directory(int parent, const std::string& name) {
  // Not a chmod afterwards: another directory may have the name by then.
  const mode_t before = ::umask(0777 & ~kDirectoryMode);
  const int error = ::mkdirat(parent, name.c_str(), kDirectoryMode) == 0 ? 0 : errno;
  ::umask(before);
  return error;
}

std::expected<NewFile, int> NewFile::make(int directory) {
  UniqueFd unnamed(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivate));
  if (unnamed.valid()) return NewFile(directory, std::move(unnamed), {});
  // Which errno says that the file system has no such files depends on it; others come again.
  std::string name = temporary_name();
  UniqueFd named(::openat(directory, name.c_str(),
                          O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, kPrivate));
  if (!named.valid()) return std::unexpected(errno);
  return NewFile(directory, std::move(named), std::move(name));
}

NewFile::NewFile(NewFile&& other) noexcept
    : directory_(other.directory_),
      fd_(std::move(other.fd_)),
      temporary_(std::exchange(other.temporary_, {})) {}

NewFile::~NewFile() {
  if (temporary_.empty() || id_under(directory_, temporary_) != id_behind(fd_.get())) return;
  ::unlinkat(directory_, temporary_.c_str(), 0);
}

int NewFile::link_as(const std::string& name) const {
  const std::string magic = fmt::format("/proc/self/fd/{}", fd_.get());
  const int flags = AT_SYMLINK_FOLLOW;
  return ::linkat(AT_FDCWD, magic.c_str(), directory_, name.c_str(), flags) == 0 ? 0 : errno;
}

int NewFile::publish(const std::string& name) {
  if (temporary_.empty()) {
    if (const int error = link_as(name); error != EEXIST) return error;
    // A link cannot take the place of another file, a rename can.
    std::string temporary = temporary_name();
    if (const int error = link_as(temporary); error != 0) return error;
    temporary_ = std::move(temporary);
  }
  if (::renameat(directory_, temporary_.c_str(), directory_, name.c_str()) != 0) return errno;
  temporary_.clear();
  return 0;
}

}  // namespace dynolog
