// openat2 with the restrictions that every look into a process's root needs.
#include "artifacts/in_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>

namespace dynolog {
namespace {

// Under a storm of renames in the tree the kernel gives up with EAGAIN; each try is independent.
constexpr int kMaxTries = 128;

}  // namespace

Result<SplitPath> split_path(std::string_view path) {
  if (path.empty() || path.front() != '/') {
    return fail(ErrorKind::invalid, fmt::format("not an absolute path: {}", path));
  }
  if (path.size() >= PATH_MAX || path.find('\0') != std::string_view::npos) {
    return fail(ErrorKind::invalid, "the path is too long or holds a NUL");
  }
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  // Room for the ".tmp" that Kineto appends.
  if (name.empty() || name == "." || name == ".." || name.size() + 4 > NAME_MAX) {
    return fail(ErrorKind::invalid, fmt::format("not a file's name: {}", path));
  }
  return SplitPath{.directory = slash == 0 ? "/" : std::string(path.substr(0, slash)),
                   .name = std::string(name)};
}

std::expected<UniqueFd, int> try_open_in_root(int root, const std::string& path, int flags) {
  struct open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    if (errno != EAGAIN && errno != EINTR) return std::unexpected(errno);
  }
  return std::unexpected(EAGAIN);
}

Result<UniqueFd> open_in_root(int root, const std::string& path, int flags) {
  auto opened = try_open_in_root(root, path, flags);
  if (opened) return std::move(*opened);
  if (opened.error() != EAGAIN) return fail_errno(opened.error(), path);
  return fail(ErrorKind::failed, fmt::format("{}: its directories are being moved about", path));
}

Result<UniqueFd> reopen_regular(int path_fd, std::string_view what) {
  struct stat status{};
  if (::fstat(path_fd, &status) != 0) return fail_errno(errno, what);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::invalid, fmt::format("{} is not a regular file", what));
  }
  const std::string magic = fmt::format("/proc/self/fd/{}", path_fd);
  UniqueFd fd(::open(magic.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, what);
  return fd;
}

Result<UniqueFd> open_regular_in_root(int root, const std::string& path) {
  auto found = open_in_root(root, path, O_PATH);
  if (!found) return std::unexpected(std::move(found.error()));
  return reopen_regular(found->get(), path);
}

}  // namespace dynolog
