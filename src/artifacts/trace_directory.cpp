// Can a trace be written here? Asked of the kernel by descriptor, as the process's owner.
#include "artifacts/trace_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "artifacts/in_root.h"

namespace dynolog {
namespace {

// A trace of half a second has a few MB; less room than this cannot be meant.
constexpr std::uint64_t kLeastFree = 1U << 20U;

std::string open_problem(const Error& error, const std::string& directory, Uid owner) {
  if (error.kind == ErrorKind::not_found) {
    return fmt::format("no such directory: {} (make it, or choose another)", directory);
  }
  if (error.kind == ErrorKind::denied) {
    return fmt::format("{} cannot be reached by uid {}: choose another directory", directory,
                       owner.value);
  }
  return fmt::format("{}: choose another directory", error.message);
}

bool is_kernel_file_system(int fd) {
  struct statfs status{};
  if (::fstatfs(fd, &status) != 0) return false;
  switch (static_cast<unsigned long>(status.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
      return true;
    default:
      return false;
  }
}

std::string access_problem(const TraceDirectory& directory, Uid owner) {
  if (is_kernel_file_system(directory.fd.get())) {
    return fmt::format("{} is the kernel's own: choose another directory", directory.path);
  }
  if (::faccessat(directory.fd.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  // Root's own processes may hold CAP_DAC_OVERRIDE, which the worker has given up: for uid 0 a
  // refusal proves nothing.
  if (errno == EACCES && owner == kRootUid) return {};
  if (errno == EROFS) {
    return fmt::format("{} is on a read-only file system: choose another directory",
                       directory.path);
  }
  return fmt::format("{} is not writable for uid {}: choose another directory", directory.path,
                     owner.value);
}

// What already stands under the final or the temporary name.
std::string standing_problem(const TraceDirectory& directory, Uid owner, bool& file_exists) {
  struct stat status{};
  const int fd = directory.fd.get();
  if (::fstatat(fd, directory.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    file_exists = true;
    if (S_ISDIR(status.st_mode)) {
      return fmt::format("{}/{} is a directory: choose another name", directory.path,
                         directory.name);
    }
  }
  // Kineto opens this name without O_EXCL: a file planted there would receive the trace.
  const std::string temporary = directory.name + ".tmp";
  if (::fstatat(fd, temporary.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (S_ISREG(status.st_mode) && status.st_uid == owner.value && status.st_nlink == 1) return {};
  return fmt::format(
      "{}/{} is there already and is not a plain file of uid {}: remove it, or choose "
      "another name",
      directory.path, temporary, owner.value);
}

}  // namespace

Result<DirectoryLook> look_at_trace_directory(int root, const std::string& file, Uid owner) {
  auto split = split_path(file);
  if (!split) return std::unexpected(std::move(split.error()));
  DirectoryLook look;
  auto opened = open_in_root(root, split->directory, O_PATH | O_DIRECTORY);
  if (!opened) {
    if (opened.error().kind == ErrorKind::denied && owner == kRootUid) {
      return fail(ErrorKind::denied,
                  split->directory + " may be reached by root's processes, but not looked at");
    }
    look.problem = open_problem(opened.error(), split->directory, owner);
    return look;
  }
  struct stat status{};
  if (::fstat(opened->get(), &status) != 0) return fail_errno(errno, split->directory);
  struct statvfs space{};
  if (::fstatvfs(opened->get(), &space) == 0) {
    look.free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  }
  TraceDirectory& directory = look.directory.emplace();
  directory.fd = std::move(*opened);
  directory.path = split->directory;
  directory.name = split->name;
  directory.id = fmt::format("{}:{}", status.st_dev, status.st_ino);

  look.problem = access_problem(directory, owner);
  if (look.problem.empty()) look.problem = standing_problem(directory, owner, look.file_exists);
  if (look.problem.empty() && look.free_bytes < kLeastFree) {
    look.problem = fmt::format("only {} bytes free in {}: make room, or choose another directory",
                               look.free_bytes, directory.path);
  }
  look.usable = look.problem.empty();
  return look;
}

}  // namespace dynolog
