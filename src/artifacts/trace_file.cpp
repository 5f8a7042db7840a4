// Opening and checking a finished trace through its held directory.
#include "artifacts/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "artifacts/held_directory.h"
#include "artifacts/in_root.h"

namespace dynolog {
namespace {

constexpr std::size_t kEdge = 64U << 10U;

FileStamp to_stamp(const struct stat& status) {
  return {.inode = status.st_ino,
          .modified_ns = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                         status.st_mtim.tv_nsec,
          .bytes = static_cast<std::uint64_t>(status.st_size)};
}

bool edge_holds(int fd, off_t offset, std::string_view text) {
  std::string edge(kEdge, '\0');
  const ssize_t got = ::pread(fd, edge.data(), edge.size(), offset);
  if (got <= 0) return false;
  return std::string_view(edge.data(), static_cast<std::size_t>(got)).find(text) !=
         std::string_view::npos;
}

}  // namespace

std::optional<FileStamp> stamp_of(const TraceDirectory& directory, const std::string& name) {
  struct stat status{};
  if (::fstatat(directory.fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return to_stamp(status);
}

Result<FileStamp> stamp_of(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, "looking at the file");
  return to_stamp(status);
}

Result<bool> is_plain_file_of(const TraceDirectory& directory, const std::string& name, Uid owner) {
  struct stat status{};
  const std::string shown = fmt::format("{}/{}", directory.path, name);
  if (::fstatat(directory.fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return fail_errno(errno, shown);
  }
  if (S_ISREG(status.st_mode) && status.st_uid == owner.value && status.st_nlink == 1) return true;
  return fail(ErrorKind::denied, fmt::format("{} is not a plain file of uid {}: it is left alone",
                                             shown, owner.value));
}

Status nobody_has_open(const TraceDirectory& directory, const std::string& name) {
  const std::string shown = fmt::format("{}/{}", directory.path, name);
  const UniqueFd fd(::openat(directory.fd.get(), name.c_str(),
                             O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, shown);
  // A lease is given to the only one who has the file open. It is not kept: who opens the file
  // would wait for its end.
  if (::fcntl(fd.get(), F_SETLEASE, F_WRLCK) == 0) {
    ::fcntl(fd.get(), F_SETLEASE, F_UNLCK);
    return {};
  }
  return fail(ErrorKind::unavailable,
              errno == EAGAIN ? "a process has it open"
                              : fmt::format("whether a process has it open cannot be told: {}",
                                            std::generic_category().message(errno)));
}

Result<UniqueFd> open_trace(const TraceDirectory& directory, Uid owner) {
  const std::string shown = fmt::format("{}/{}", directory.path, directory.name);
  const UniqueFd found(
      ::openat(directory.fd.get(), directory.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!found.valid()) return fail_errno(errno, shown);
  struct stat status{};
  if (::fstat(found.get(), &status) != 0) return fail_errno(errno, shown);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::denied,
                fmt::format("{} is {}, not a trace", shown, kind_of_file(status.st_mode)));
  }
  if (status.st_uid != owner.value) {
    return fail(ErrorKind::denied, fmt::format("{} belongs to uid {}, not to the process's uid {}",
                                               shown, status.st_uid, owner.value));
  }
  if (status.st_nlink != 1) {
    return fail(ErrorKind::denied,
                fmt::format("{} has {} names (hard links): not looked at", shown, status.st_nlink));
  }
  return reopen_regular(found.get(), shown);
}

bool mentions(int fd, std::string_view text) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return false;
  if (edge_holds(fd, 0, text)) return true;
  const auto edge = static_cast<off_t>(kEdge);
  return status.st_size > edge && edge_holds(fd, status.st_size - edge, text);
}

}  // namespace dynolog
