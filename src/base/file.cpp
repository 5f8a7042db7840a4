// File reading and atomic replacement.
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dynolog {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr std::size_t kPage = 4096;  // the least that a kernel has
constexpr std::size_t kShortRecord = 512;
// The largest kernel text that is read again each tick (interrupts of a 192-CPU host: 400 KiB).
constexpr std::size_t kMaxKept = 8U << 20U;

}  // namespace

Result<std::string> read_all(int fd, std::size_t max_bytes) {
  std::string content;
  while (true) {
    const std::size_t old_size = content.size();
    if (old_size > max_bytes) {
      return fail(ErrorKind::exhausted,
                  fmt::format("file is too large: more than {} bytes", max_bytes));
    }
    content.resize(old_size + kChunk);
    const ssize_t got = ::read(fd, content.data() + old_size, kChunk);
    if (got < 0 && errno == EINTR) {
      content.resize(old_size);
      continue;
    }
    if (got < 0) return fail_errno(errno, "read");
    content.resize(old_size + static_cast<std::size_t>(got));
    if (got == 0) return content;
  }
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return fail_errno(errno, path);
  auto content = read_all(fd.get(), max_bytes);
  if (!content) return with_context(std::move(content.error()), path);
  return content;
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno(errno, "write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Status replace_file(const std::string& path, std::string_view content, unsigned mode) {
  const std::string temporary = path + ".new";
  ::unlink(temporary.c_str());
  const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                           static_cast<mode_t>(mode)));
  if (!fd.valid()) return fail_errno(errno, temporary);
  if (auto written = write_all(fd.get(), content); !written) {
    return with_context(std::move(written.error()), temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail_errno(errno, path);
  return {};
}

Result<std::string_view> KeptFile::read() {
  const auto text = read_if_there();
  if (text) return *text;
  if (text.error() == EFBIG) return fail(ErrorKind::exhausted, path_ + ": file is too large");
  return fail_errno(text.error(), path_);
}

std::expected<std::string_view, int> KeptFile::read_if_there() {
  if (!fd_.valid()) {
    fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd_.valid()) return std::unexpected(errno);
  }
  if (buffer_.empty()) buffer_.resize(kChunk);
  std::size_t size = 0;
  while (true) {
    const ssize_t got =
        ::pread(fd_.get(), buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error_number = errno;
      fd_.reset();
      return std::unexpected(error_number);
    }
    if (got == 0) return std::string_view(buffer_.data(), size);
    size += static_cast<std::size_t>(got);
    if (size < buffer_.size()) {
      const bool last = static_cast<std::size_t>(got) + kShortRecord <= kPage;
      if (records_ == Records::one_piece || (last && records_ == Records::short_ones)) {
        return std::string_view(buffer_.data(), size);
      }
      continue;
    }
    if (size >= kMaxKept) return std::unexpected(EFBIG);
    buffer_.resize(buffer_.size() * 2);
    size = 0;  // read again in one piece: a kernel file may change between two reads
  }
}

}  // namespace dynolog
