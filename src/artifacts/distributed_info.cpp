// Writing in the place of a trace's closing brace, and putting everything back when that fails.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "artifacts/delivery.h"
#include "artifacts/held_directory.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxObject = 64U << 10U;
constexpr std::size_t kMaxTail = 64U << 10U;  // white space after the brace: Kineto writes none
constexpr std::size_t kLookBack = 4U << 10U;  // white space before it
constexpr std::string_view kSpace = " \t\r\n";

std::unexpected<Error> with_errno(int error, const std::string& path) {
  return fail_errno(error, "writing to " + path);
}

Result<std::string> read_piece(int fd, std::uint64_t offset, std::size_t size,
                               const std::string& path) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    if (got == 0) return fail(ErrorKind::denied, path + " has become shorter");
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

// 0, or an errno.
int write_piece(int fd, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return 0;
}

int cut_after(int fd, std::uint64_t size) {
  return ::ftruncate(fd, static_cast<off_t>(size)) == 0 ? 0 : errno;
}

// What stands before the brace in an object without members needs no comma after it.
Result<bool> has_members(const StagedFile& staged, const std::string& path) {
  const std::uint64_t brace = *staged.closing_brace;
  const std::size_t size = std::min<std::uint64_t>(brace, kLookBack);
  const auto before = read_piece(staged.fd.get(), brace - size, size, path);
  if (!before) return std::unexpected(before.error());
  const std::size_t last = before->find_last_not_of(kSpace);
  return last == std::string::npos || (*before)[last] != '{';
}

// The bytes from the brace on, as they are.
Result<std::string> read_tail(const StagedFile& staged, const std::string& path) {
  const std::uint64_t brace = *staged.closing_brace;
  if (brace >= staged.stamp.bytes || staged.stamp.bytes - brace > kMaxTail) {
    return fail(ErrorKind::invalid, path + " does not end with its closing brace");
  }
  auto tail = read_piece(staged.fd.get(), brace, staged.stamp.bytes - brace, path);
  if (!tail) return tail;
  if (tail->front() != '}' || tail->find_first_not_of(kSpace, 1) != std::string::npos) {
    return fail(ErrorKind::denied, path + " has another end than when it was checked");
  }
  return tail;
}

Status put_back(int fd, std::uint64_t brace, std::string_view tail, int error,
                const std::string& path) {
  int restored = write_piece(fd, brace, tail);
  if (restored == 0) restored = cut_after(fd, brace + tail.size());
  if (restored == 0) return with_errno(error, path);
  return with_context(with_errno(error, path).error(),
                      path + " is damaged: its closing brace could not be put back (append '}')");
}

}  // namespace

Status add_distributed_info(StagedFile& staged, const std::string& object, Uid owner) {
  const std::string path = joined(staged.directory.path, staged.directory.name);
  if (!staged.closing_brace) {
    return fail(ErrorKind::invalid, path + " is not a whole JSON file: nothing can be added to it");
  }
  if (object.size() > kMaxObject || !object.starts_with('{') || !object.ends_with('}')) {
    return fail(ErrorKind::invalid, "what is to be added is not a JSON object, or is too large");
  }
  if (auto same = still_as_checked(staged, owner); !same) return same;
  const auto tail = read_tail(staged, path);
  if (!tail) return std::unexpected(tail.error());
  const auto members = has_members(staged, path);
  if (!members) return std::unexpected(members.error());

  // The very file that was checked, whatever stands under its name. O_NONBLOCK: a lease that
  // somebody holds on it would keep open() waiting.
  const std::string magic = fmt::format("/proc/self/fd/{}", staged.fd.get());
  const UniqueFd fd(::open(magic.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return with_errno(errno, path);
  const std::string text =
      fmt::format("{}\"distributedInfo\": {}}}\n", *members ? ", " : "", object);
  const std::uint64_t brace = *staged.closing_brace;
  int error = write_piece(fd.get(), brace, text);
  if (error == 0) error = cut_after(fd.get(), brace + text.size());
  if (error != 0) {
    auto failed = put_back(fd.get(), brace, *tail, error, path);
    if (const auto now = stamp_of(fd.get())) staged.stamp = *now;
    return failed;
  }
  const auto now = stamp_of(fd.get());
  if (!now) return std::unexpected(now.error());
  staged.stamp = *now;
  staged.closing_brace = brace + text.size() - 2;
  return {};
}

}  // namespace dynolog
