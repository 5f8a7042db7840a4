// Making a directory and looking whose it is, by its descriptor.
#include "daemon/own_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dynolog {
namespace {

Status check_is_own(int directory, const std::string& path, std::string_view option) {
  struct stat info{};
  if (::fstat(directory, &info) != 0) return fail_errno(errno, path);
  if (info.st_uid != ::geteuid()) {
    return fail(ErrorKind::denied, fmt::format("{} belongs to uid {}, not to the daemon's uid {}: "
                                               "choose another with {}",
                                               path, info.st_uid, ::geteuid(), option));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorKind::denied,
                fmt::format("{} may be written by others (mode {:o}): chmod go-w it, or choose "
                            "another with {}",
                            path, info.st_mode & 07777U, option));
  }
  return {};
}

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

}  // namespace

// The last component is opened without following a link, and must be ours alone to write.
Result<UniqueFd> open_own_directory(const std::string& path, mode_t mode, std::string_view option) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return fail_errno(errno, path);
  UniqueFd directory(::open(path.c_str(), kDirectory | O_NOFOLLOW));
  if (!directory.valid()) return fail_errno(errno, path);
  if (auto own = check_is_own(directory.get(), path, option); !own) {
    return std::unexpected(std::move(own.error()));
  }
  return directory;
}

std::string nearest_existing(const std::string& path) {
  std::filesystem::path at(path);
  struct stat info{};
  // A link that leads nowhere is there.
  while (at.has_relative_path() && ::lstat(at.c_str(), &info) != 0 && errno == ENOENT) {
    at = at.parent_path();
  }
  return at.empty() ? "." : at.string();
}

Status see_own_directory(const std::string& path, std::string_view option) {
  const UniqueFd directory(::open(path.c_str(), kDirectory | O_NOFOLLOW));
  if (!directory.valid() && errno != ENOENT) return fail_errno(errno, path);
  if (directory.valid()) {
    if (auto own = check_is_own(directory.get(), path, option); !own) return own;
    if (::faccessat(directory.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
    return fail_errno(errno, path);
  }
  const std::string above = nearest_existing(path);
  const UniqueFd parent(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (parent.valid() && ::faccessat(parent.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  return fail_errno(errno, "making it in " + above);
}

std::string default_state_directory(bool system_mode, const std::string& host,
                                    const std::string& xdg_state_home, const std::string& home) {
  if (system_mode) return "/var/lib/dynolog";
  std::string name = host;
  std::ranges::replace(name, '/', '_');
  if (xdg_state_home.starts_with('/')) return xdg_state_home + "/dynolog/" + name;
  if (home.starts_with('/')) return home + "/.local/state/dynolog/" + name;
  return "";
}

}  // namespace dynolog
