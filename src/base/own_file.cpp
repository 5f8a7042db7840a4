// The way to the file, one held directory after the other: what was looked at is what is gone
// through.
#include "base/own_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

namespace dynolog {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel has it
constexpr int kWrite = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

bool is_trusted(uid_t uid) { return uid == 0 || uid == ::geteuid(); }

// The names of a path, the last one first.
std::vector<std::string> names_of(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    if (!name.empty() && name != ".") names.emplace_back(name);
    path = slash == std::string_view::npos ? "" : path.substr(0, slash);
  }
  return names;
}

class Way {
 public:
  explicit Way(const std::string& path) : path_(path), names_(names_of(path)) {}

  // Up to the last name, which is returned.
  Result<std::string> go() {
    if (names_.empty() || path_.ends_with('/')) return fail_errno(EISDIR, path_);
    if (auto begun = begin(path_); !begun) return std::unexpected(std::move(begun.error()));
    std::string last = std::move(names_.front());
    names_.erase(names_.begin());
    while (!names_.empty()) {
      const std::string name = std::move(names_.back());
      names_.pop_back();
      if (auto done = step(name); !done) return std::unexpected(std::move(done.error()));
    }
    if (last == "..") return fail_errno(EISDIR, path_);
    return last;
  }
  [[nodiscard]] int directory() const { return directory_.get(); }

 private:
  Status begin(std::string_view path) {
    at_ = path.starts_with('/') ? "/" : ".";
    UniqueFd fd(::open(at_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return enter(std::move(fd));
  }

  Status step(const std::string& name) {
    const std::string before =
        std::exchange(at_, at_.ends_with('/') ? at_ + name : at_ + "/" + name);
    // First as a directory, which mounts what is to be mounted there.
    UniqueFd fd(
        ::openat(directory_.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd.valid() || errno != ENOTDIR) return enter(std::move(fd));
    fd.reset(::openat(directory_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, at_);
    if (!S_ISLNK(info.st_mode)) return fail_errno(ENOTDIR, at_);
    if (!is_trusted(info.st_uid)) return belongs_to(info.st_uid, "a link");
    return follow(fd, before);
  }

  // A link's names come before those that are left.
  Status follow(const UniqueFd& link, const std::string& before) {
    if (++links_ > kMaxLinks) return fail_errno(ELOOP, path_);
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
    if (size < 0) return fail_errno(errno, at_);
    const std::string_view target(text.data(), static_cast<std::size_t>(size));
    for (std::string& name : names_of(target)) names_.push_back(std::move(name));
    if (target.starts_with('/')) return begin(target);
    at_ = before;
    return {};
  }

  Status enter(UniqueFd fd) {
    struct stat info{};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, at_);
    if (!is_trusted(info.st_uid)) return belongs_to(info.st_uid, "a directory");
    if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
      return fail(ErrorKind::denied,
                  fmt::format("{}: everybody may write to {} (mode {:o}) and lead the daemon to "
                              "another file: chmod o-w it, or choose another file",
                              path_, at_, info.st_mode & 07777U));
    }
    directory_ = std::move(fd);
    return {};
  }

  [[nodiscard]] Status belongs_to(uid_t uid, std::string_view what) const {
    return fail(ErrorKind::denied,
                fmt::format("{}: {} is {} of uid {}, who could lead the daemon (uid {}) to another "
                            "file: choose a file below directories of the daemon's own or root's",
                            path_, at_, what, uid, ::geteuid()));
  }

  const std::string& path_;
  std::vector<std::string> names_;
  UniqueFd directory_;
  std::string at_;  // for whoever reads an error
  int links_ = 0;
};

// Not O_CREAT for what is there: in a sticky directory the kernel would refuse without a reason.
UniqueFd open_or_make(int directory, const std::string& name, mode_t mode) {
  UniqueFd fd;
  for (int tries = 0; tries < 3; ++tries) {
    fd.reset(::openat(directory, name.c_str(), kWrite | O_NOFOLLOW));
    if (fd.valid() || errno != ENOENT) return fd;
    fd.reset(::openat(directory, name.c_str(), kWrite | O_NOFOLLOW | O_CREAT | O_EXCL, mode));
    if (fd.valid() || errno != EEXIST) return fd;
  }
  return fd;
}

Status check(const struct stat& info, const std::string& path) {
  const auto refuse = [&path](std::string_view why) {
    return fail(ErrorKind::denied, fmt::format("{} {}, or choose another file", path, why));
  };
  if (S_ISCHR(info.st_mode)) return {};  // only root makes them
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) return refuse("is no file: remove it");
  if (!is_trusted(info.st_uid)) {
    return refuse(fmt::format("belongs to uid {}, not to the daemon's uid {}: remove it",
                              info.st_uid, ::geteuid()));
  }
  if (S_ISFIFO(info.st_mode)) return {};
  if (info.st_nlink != 1) {
    return refuse(
        fmt::format("is a file with {} names (hard links), one of which may be somebody "
                    "else's choice: remove it",
                    info.st_nlink));
  }
  const bool others_group = info.st_gid != 0 && info.st_gid != ::getegid();
  if ((info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && others_group)) {
    return refuse(
        fmt::format("may be written by others (mode {:o}): chmod go-w it", info.st_mode & 07777U));
  }
  return {};
}

std::unexpected<Error> is_a_link(const std::string& path) {
  return fail(ErrorKind::denied,
              path + " is a symbolic link, which is not followed: give the file that it leads to");
}

}  // namespace

bool names_descriptor(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

Result<UniqueFd> open_own_file(const std::string& path, mode_t mode) {
  if (names_descriptor(path)) {
    UniqueFd fd(::open(path.c_str(), kWrite));
    if (!fd.valid()) return fail_errno(errno, path);
    return fd;
  }
  Way way(path);
  const auto name = way.go();
  if (!name) return std::unexpected(name.error());
  UniqueFd fd = open_or_make(way.directory(), *name, mode);
  struct stat info{};
  if (!fd.valid() && errno == ELOOP) return is_a_link(path);
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, path);
  if (auto good = check(info, path); !good) return std::unexpected(std::move(good.error()));
  return fd;
}

Status see_own_file(const std::string& path) {
  if (names_descriptor(path)) return {};
  Way way(path);
  const auto name = way.go();
  if (!name) return std::unexpected(name.error());
  const UniqueFd fd(::openat(way.directory(), name->c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!fd.valid() && errno == ENOENT) {  // then it is to be made
    if (::faccessat(way.directory(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
    return fail_errno(errno, "making " + path);
  }
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, path);
  if (S_ISLNK(info.st_mode)) return is_a_link(path);
  if (S_ISDIR(info.st_mode)) return fail_errno(EISDIR, path);
  if (auto good = check(info, path); !good) return good;
  if (::faccessat(way.directory(), name->c_str(), W_OK, AT_EACCESS) == 0) return {};
  return fail_errno(errno, path);
}

}  // namespace dynolog
