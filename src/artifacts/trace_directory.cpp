// Can a trace be written here? Asked of the kernel by descriptor, as the process's owner.
#include "artifacts/trace_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <expected>
#include <string_view>
#include <system_error>
#include <utility>

#include "artifacts/file_system.h"
#include "artifacts/held_directory.h"
#include "artifacts/in_root.h"
#include "artifacts/made_directories.h"

namespace dynolog {
namespace {

// A trace of half a second has a few MB; less room than this cannot be meant.
constexpr std::uint64_t kLeastFree = 1U << 20U;

// Refusals that may be meant for the worker and not for the process.
bool may_be_ours_alone(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case ENOKEY:
    case EKEYEXPIRED:
    case EKEYREVOKED:
    case EKEYREJECTED:
    case ESTALE:
      return true;
    default:
      return false;
  }
}

void add(std::string_view remark, DirectoryLook& look) {
  look.problem += remark;
  look.fault += remark;
}

// What the look finds when the directory does not open.
void judge_refusal(const Refusal& refusal, Uid owner, DirectoryLook& look) {
  look.problem = refusal.problem;
  look.fault = refusal.fault;
  if (!may_be_ours_alone(refusal.error)) return;
  if (refusal.below == FileSystem::remote) {
    look.unknown = true;
    add(" (it is on a network or FUSE file system, which may let the process in but not the "
        "daemon's worker)",
        look);
  } else if (owner == kRootUid) {
    look.unknown = true;
    add(" (root's processes may get there, but the daemon's worker has given up its capabilities)",
        look);
  }
}

void say(std::string fault, std::string_view advice, Refusal& refusal) {
  refusal.problem = fmt::format("{}{}", fault, advice);
  refusal.fault = std::move(fault);
}

constexpr std::string_view kChooseAnother = ": choose another directory";

Refusal to_refusal(int root, const std::string& path, Uid owner, int error) {
  Refusal refusal{.error = error, .problem = {}, .fault = {}, .below = FileSystem::ordinary};
  switch (error) {
    case ENOENT:
      say(fmt::format("no such directory: {}", path), " (--mkdir makes it, or choose another)",
          refusal);
      return refusal;
    case ENOTDIR:
      say(fmt::format("{} is not a directory", path), ": choose another", refusal);
      return refusal;
    case EACCES:
    case EPERM:
      say(fmt::format("{} cannot be reached by uid {}", path, owner.value), kChooseAnother,
          refusal);
      break;
    case EAGAIN:
      say(fmt::format("{}: its directories are being moved about", path),
          "; try again, or choose another directory", refusal);
      return refusal;
    default:
      say(fmt::format("{}: {}", path, std::generic_category().message(error)), kChooseAnother,
          refusal);
  }
  const DeepestDirectory deepest = deepest_in_root(root, path);
  if (deepest.fd.valid()) refusal.below = file_system_of(deepest.fd.get());
  return refusal;
}

std::expected<UniqueFd, Refusal> open_directory(int root, const std::string& path, Uid owner,
                                                bool make) {
  auto opened = try_open_in_root(root, path, O_PATH | O_DIRECTORY);
  if (opened) return std::move(*opened);
  if (opened.error() == ENOENT && make) return make_directories(root, path, owner);
  return std::unexpected(to_refusal(root, path, owner, opened.error()));
}

std::optional<Refusal> refused_access(const TraceDirectory& directory, Uid owner,
                                      FileSystem file_system) {
  Refusal refusal{.error = 0, .problem = {}, .fault = {}, .below = file_system};
  if (file_system == FileSystem::kernel) {
    say(fmt::format("{} is the kernel's own", directory.path), kChooseAnother, refusal);
    return refusal;
  }
  if (::faccessat(directory.fd.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return std::nullopt;
  refusal.error = errno;
  say(errno == EROFS ? fmt::format("{} is on a read-only file system", directory.path)
                     : fmt::format("{} is not writable for uid {}", directory.path, owner.value),
      kChooseAnother, refusal);
  return refusal;
}

// What already stands under the final or the temporary name.
std::string problem_of_staging(const TraceDirectory& directory, Uid owner, bool& file_exists) {
  struct stat status{};
  const int fd = directory.fd.get();
  if (::fstatat(fd, directory.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    file_exists = true;
    if (S_ISDIR(status.st_mode)) {
      return fmt::format("{} is a directory: choose another name",
                         joined(directory.path, directory.name));
    }
  }
  // Kineto opens this name without O_EXCL: a file planted there would receive the trace.
  const std::string temporary = temporary_name(directory);
  if (::fstatat(fd, temporary.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (S_ISREG(status.st_mode) && status.st_uid == owner.value && status.st_nlink == 1) return {};
  return fmt::format(
      "{} is there already and is not a plain file of uid {}: remove it, or choose another name",
      joined(directory.path, temporary), owner.value);
}

// The errno when not even its number is told: on the root of somebody's private FUSE mount.
std::expected<TraceDirectory, int> held(UniqueFd fd, SplitPath split) {
  struct statx status{};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &status) != 0) {
    return std::unexpected(errno);
  }
  const auto id = id_behind(fd.get());
  if (!id) return std::unexpected(errno);
  return TraceDirectory{.fd = std::move(fd),
                        .path = std::move(split.directory),
                        .name = std::move(split.name),
                        .id = to_string(*id),
                        .device = id->device,
                        .mount = (status.stx_mask & STATX_MNT_ID) != 0 ? status.stx_mnt_id : 0};
}

}  // namespace

std::string temporary_name(const TraceDirectory& directory) { return directory.name + ".tmp"; }

std::string problem_of_target(const TraceDirectory& directory, const std::string& name, Uid owner,
                              bool& file_exists) {
  struct stat status{};
  file_exists = ::fstatat(directory.fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!file_exists) return {};
  const std::string shown = joined(directory.path, name);
  if (S_ISDIR(status.st_mode)) {
    return fmt::format("{} is a directory: choose another name", shown);
  }
  if (!S_ISREG(status.st_mode)) {
    return fmt::format("{} is {}: remove it, or choose another name", shown,
                       kind_of_file(status.st_mode));
  }
  if (status.st_uid != owner.value) {
    return fmt::format("{} belongs to uid {}, not to uid {}: choose another name", shown,
                       status.st_uid, owner.value);
  }
  return {};
}

Result<DirectoryLook> look_at_trace_directory(int root, const std::string& file, Uid owner,
                                              DirectoryUse use) {
  auto split = split_path(file);
  if (!split) return std::unexpected(std::move(split.error()));
  DirectoryLook look;
  auto opened = open_directory(root, split->directory, owner, use.make);
  if (!opened) {
    judge_refusal(opened.error(), owner, look);
    return look;
  }
  struct statvfs space{};
  if (::fstatvfs(opened->get(), &space) == 0) {
    look.free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  }
  const FileSystem file_system = file_system_of(opened->get());
  look.in_memory = file_system == FileSystem::memory;
  auto directory = held(std::move(*opened), *split);
  if (!directory) {
    judge_refusal(to_refusal(root, split->directory, owner, directory.error()), owner, look);
    return look;
  }
  look.directory = std::move(*directory);

  if (const auto refusal = refused_access(*look.directory, owner, file_system)) {
    judge_refusal(*refusal, owner, look);
    return look;
  }
  look.problem = use.delivery ? problem_of_target(*look.directory, look.directory->name, owner,
                                                  look.file_exists)
                              : problem_of_staging(*look.directory, owner, look.file_exists);
  if (look.problem.empty() && look.free_bytes < kLeastFree) {
    look.fault = fmt::format("only {} bytes free in {}", look.free_bytes, look.directory->path);
    look.problem = look.fault + ": make room, or choose another directory";
  } else {
    look.fault = look.problem;
  }
  look.usable = look.problem.empty();
  return look;
}

bool on_one_file_system(const TraceDirectory& one, const TraceDirectory& other) {
  // Two mounts of one file system count as two for rename(2).
  return one.device == other.device && one.mount == other.mount;
}

bool lies_at_its_path(int root, const TraceDirectory& directory) {
  const auto there = try_open_in_root(root, directory.path, O_PATH | O_DIRECTORY);
  return there && id_behind(there->get()) == id_behind(directory.fd.get());
}

}  // namespace dynolog
