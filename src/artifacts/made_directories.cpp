// mkdir -p by held descriptors.
#include "artifacts/made_directories.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "artifacts/held_directory.h"
#include "artifacts/in_root.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxMade = 64;

std::unexpected<Refusal> refuse(int error, FileSystem below, std::string problem) {
  return std::unexpected(
      Refusal{.error = error, .problem = problem, .fault = problem, .below = below});
}

std::unexpected<Refusal> refuse_making(int error, FileSystem below, const std::string& path,
                                       Uid owner) {
  switch (error) {
    case EACCES:
    case EPERM:
      return refuse(
          error, below,
          fmt::format("{} cannot be made by uid {}: choose another directory", path, owner.value));
    case EROFS:
      return refuse(error, below,
                    fmt::format("{} cannot be made on a read-only file system: choose another "
                                "directory",
                                path));
    case EDQUOT:
      return refuse(error, below,
                    fmt::format("{} cannot be made: uid {} is over the disk quota; make room, or "
                                "choose another directory",
                                path, owner.value));
    default:
      return refuse(error, below,
                    fmt::format("{} cannot be made: {}: choose another directory", path,
                                std::generic_category().message(error)));
  }
}

// The names that are missing. Errors: "..", whose meaning depends on what does not exist yet.
std::expected<std::vector<std::string>, Refusal> missing_names(std::string_view rest,
                                                               const std::string& path) {
  std::vector<std::string> names;
  for (const std::string_view name : split(rest, '/')) {
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      return refuse(0, FileSystem::ordinary,
                    fmt::format("{} has a '..' below a directory that does not exist: write it "
                                "without",
                                path));
    }
    names.emplace_back(name);
  }
  if (names.size() > kMaxMade) {
    return refuse(0, FileSystem::ordinary,
                  fmt::format("{} lacks {} directories, at most {} are made: make them, or choose "
                              "another directory",
                              path, names.size(), kMaxMade));
  }
  return names;
}

std::expected<UniqueFd, Refusal> make_one(int parent, const std::string& name,
                                          const std::string& path, Uid owner) {
  const FileSystem below = file_system_of(parent);
  // A mkdir in a cgroup makes a cgroup.
  if (below == FileSystem::kernel) {
    return refuse(0, below,
                  fmt::format("{} would be in a file system of the kernel's own: choose "
                              "another directory",
                              path));
  }
  // One that is there by now may have been made for another process of the job.
  const int error = make_directory(parent, name);
  if (error != 0 && error != EEXIST) return refuse_making(error, below, path, owner);
  UniqueFd made(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (made.valid()) return made;
  if (errno == ELOOP || errno == ENOTDIR) {
    return refuse(0, below,
                  fmt::format("{} is a link that leads nowhere, or no directory: remove it, or "
                              "choose another directory",
                              path));
  }
  return refuse_making(errno, below, path, owner);
}

}  // namespace

DeepestDirectory deepest_in_root(int root, const std::string& path) {
  for (std::size_t length = path.size(); length > 0;) {
    auto opened = try_open_in_root(root, path.substr(0, length), O_PATH | O_DIRECTORY);
    if (opened) return {.fd = std::move(*opened), .length = length};
    const std::size_t slash = path.rfind('/', length - 1);
    if (slash == std::string::npos) break;
    length = slash;
  }
  auto opened = try_open_in_root(root, "/", O_PATH | O_DIRECTORY);
  return {.fd = opened ? std::move(*opened) : UniqueFd(), .length = 0};
}

std::expected<UniqueFd, Refusal> make_directories(int root, const std::string& path, Uid owner) {
  DeepestDirectory deepest = deepest_in_root(root, path);
  if (!deepest.fd.valid()) return refuse_making(ENOENT, FileSystem::ordinary, path, owner);
  auto names = missing_names(std::string_view(path).substr(deepest.length), path);
  if (!names) return std::unexpected(std::move(names.error()));
  UniqueFd held = std::move(deepest.fd);
  std::string made = path.substr(0, deepest.length);
  for (const std::string& name : *names) {
    made = joined(made, name);
    auto next = make_one(held.get(), name, made, owner);
    if (!next) return next;
    held = std::move(*next);
  }
  return held;
}

}  // namespace dynolog
