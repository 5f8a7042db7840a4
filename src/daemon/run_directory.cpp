// Directory making by descriptors: a parent in /tmp may be somebody else's.
#include "daemon/run_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/number.h"
#include "daemon/own_directory.h"
#include "processes/identity.h"  // brings the parsers of /proc/<pid>

namespace dynolog {
namespace {

constexpr std::size_t kMaxStatus = 64U << 10U;
constexpr char kSocketName[] = "dynolog";

// Whoever has a process; nothing where that cannot be told of all.
Result<std::set<Uid>> users_with_processes(const SystemRoot& root) {
  std::error_code error;
  std::filesystem::directory_iterator process(root.proc, error);
  if (error) return fail(ErrorKind::failed, root.proc + ": " + error.message());
  std::set<Uid> users;
  for (; process != std::filesystem::directory_iterator(); process.increment(error)) {
    if (error) return fail(ErrorKind::failed, root.proc + ": " + error.message());
    if (!parse_number<std::int32_t>(process->path().filename().string())) continue;
    const auto text = read_file(process->path().string() + "/status", kMaxStatus);
    if (!text && text.error().kind == ErrorKind::not_found) continue;  // it has ended
    if (!text) return std::unexpected(text.error());
    const auto status = parse_proc_pid_status(*text);
    if (!status) return std::unexpected(status.error());
    for (const std::uint32_t uid : status->uids) users.insert(Uid{uid});
  }
  return users;
}

// Nothing in it but, perhaps, the socket that a daemon of ours left.
bool holds_only_our_socket(int directory) {
  UniqueFd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(again.get()), &::closedir);
  if (!listing) return false;
  static_cast<void>(again.release());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info{};
    if (name != kSocketName ||
        ::fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISSOCK(info.st_mode) || info.st_uid != ::geteuid()) {
      return false;
    }
  }
  return true;
}

bool is_old(int users, const std::string& name, WallTime now) {
  struct stat info{};
  if (::fstatat(users, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return now - WallTime(std::chrono::seconds(info.st_mtim.tv_sec)) >= kUnusedFor;
}

bool remove_unused(int users, const std::string& name, WallTime now) {
  const UniqueFd directory(
      ::openat(users, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!directory.valid() || ::fstat(directory.get(), &info) != 0) return false;
  const WallTime touched(std::chrono::seconds(info.st_mtim.tv_sec));
  if (now - touched < kUnusedFor || !holds_only_our_socket(directory.get())) return false;
  ::unlinkat(directory.get(), kSocketName, 0);
  return ::unlinkat(users, name.c_str(), AT_REMOVEDIR) == 0;  // only an empty one
}

}  // namespace

Result<RunDirectory> RunDirectory::open(const std::string& path, bool system_mode,
                                        std::size_t max_user_directories) {
  auto directory = open_own_directory(path, system_mode ? 0755 : 0700, "--run_dir");
  if (!directory) return std::unexpected(std::move(directory.error()));
  UniqueFd lock(
      ::openat(directory->get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return fail_errno(errno, path + "/lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail_errno(errno, path + "/lock");
    return fail(ErrorKind::failed, "another dynolog daemon runs with run directory " + path +
                                       ": stop it, or choose another with --run_dir");
  }
  return RunDirectory(path, std::move(*directory), std::move(lock), max_user_directories);
}

Result<std::string> RunDirectory::make_user_directory(Uid uid) const {
  if (::mkdirat(directory_.get(), "u", 0711) != 0 && errno != EEXIST) {
    return fail_errno(errno, path_ + "/u");
  }
  const UniqueFd users(
      ::openat(directory_.get(), "u", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!users.valid()) return fail_errno(errno, path_ + "/u");
  // The umask of the daemon may be anything; users must be able to pass through.
  if (::fchmod(users.get(), 0711) != 0) return fail_errno(errno, path_ + "/u");

  const std::string name = std::to_string(uid.value);
  const std::string path = path_ + "/u/" + name;
  if (::faccessat(users.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
      user_directories().size() >= max_user_directories_) {
    return fail(ErrorKind::exhausted,
                fmt::format("{} users have a socket directory here, and no more are made: those "
                            "that nobody uses go when the daemon starts again",
                            max_user_directories_));
  }
  if (::mkdirat(users.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, path);
  }
  const UniqueFd own(
      ::openat(users.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!own.valid()) return fail_errno(errno, path);
  struct stat info{};
  if (::fstat(own.get(), &info) != 0) return fail_errno(errno, path);
  if (info.st_uid == ::geteuid() && info.st_uid != uid.value &&
      ::fchown(own.get(), uid.value, static_cast<gid_t>(-1)) != 0) {
    return fail_errno(errno, path);
  }
  if (info.st_uid != ::geteuid() && info.st_uid != uid.value) {
    return fail(ErrorKind::denied, fmt::format("{} belongs to uid {}", path, info.st_uid));
  }
  return path;
}

std::vector<std::string> RunDirectory::user_directories() const {
  std::vector<std::string> found;
  const int fd = ::openat(directory_.get(), "u", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd), &::closedir);
  if (!listing) {
    ::close(fd);
    return found;
  }
  while (const dirent* entry = ::readdir(listing.get())) {
    if (parse_number<std::uint32_t>(entry->d_name)) found.push_back(path_ + "/u/" + entry->d_name);
  }
  return found;
}

std::size_t RunDirectory::collect_user_directories(const SystemRoot& root, WallTime now) const {
  const UniqueFd users(
      ::openat(directory_.get(), "u", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!users.valid()) return 0;
  std::vector<std::string> old;
  for (const std::string& path : user_directories()) {
    std::string name = std::filesystem::path(path).filename();
    if (is_old(users.get(), name, now)) old.push_back(std::move(name));
  }
  // Looking at every process of the host is for those only: the daemon's start waits for it.
  if (old.empty()) return 0;
  const auto busy = users_with_processes(root);
  if (!busy) return 0;
  std::size_t removed = 0;
  for (const std::string& name : old) {
    const auto uid = parse_number<std::uint32_t>(name);
    if (!uid || busy->contains(Uid{*uid})) continue;
    if (remove_unused(users.get(), name, now)) ++removed;
  }
  return removed;
}

std::string default_run_directory(bool system_mode, Uid uid, const std::string& xdg_runtime_dir) {
  if (system_mode) return "/run/dynolog";
  std::error_code ignored;
  if (!xdg_runtime_dir.empty() && std::filesystem::is_directory(xdg_runtime_dir, ignored)) {
    return xdg_runtime_dir + "/dynolog";
  }
  return fmt::format("/tmp/dynolog-{}", uid.value);
}

}  // namespace dynolog
