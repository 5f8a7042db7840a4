// Attribute files and directories.
#include "kernel/sysfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxLong = 256U << 10U;

}  // namespace

bool AttributeReader::enter(std::initializer_list<std::string_view> parts) {
  const int base = set_path(parts);
  UniqueFd fd(::openat(base, path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  error_ = fd.valid() ? 0 : errno;
  inside_ = std::move(fd);
  return inside_.valid();
}

int AttributeReader::set_path(std::initializer_list<std::string_view> parts) {
  path_.clear();
  if (!inside_.valid()) path_ = directory_;
  for (const std::string_view part : parts) {
    if (!path_.empty()) path_ += '/';
    path_ += part;
  }
  return inside_.valid() ? inside_.get() : AT_FDCWD;
}

UniqueFd AttributeReader::open(std::initializer_list<std::string_view> parts) {
  const int base = set_path(parts);
  UniqueFd fd(::openat(base, path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  error_ = fd.valid() ? 0 : errno;
  return fd;
}

std::optional<std::string_view> AttributeReader::read(
    std::initializer_list<std::string_view> parts) {
  const UniqueFd fd = open(parts);
  if (!fd.valid()) return std::nullopt;
  ssize_t got = 0;
  do {
    got = ::read(fd.get(), buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_ = errno;
    return std::nullopt;
  }
  return trim(std::string_view(buffer_.data(), static_cast<std::size_t>(got)));
}

std::optional<std::string_view> AttributeReader::read_long(
    std::initializer_list<std::string_view> parts) {
  const UniqueFd fd = open(parts);
  if (!fd.valid()) return std::nullopt;
  for (std::size_t size = 0;;) {
    if (size == long_buffer_.size()) {
      if (size >= kMaxLong) {
        error_ = EFBIG;
        return std::nullopt;
      }
      long_buffer_.resize(std::max(buffer_.size(), 2 * size));
    }
    const ssize_t got = ::read(fd.get(), long_buffer_.data() + size, long_buffer_.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error_ = errno;
      return std::nullopt;
    }
    if (got == 0) return std::string_view(long_buffer_).substr(0, size);
    size += static_cast<std::size_t>(got);
  }
}

std::optional<double> AttributeReader::number(std::initializer_list<std::string_view> parts) {
  auto text = read(parts);
  if (!text) return std::nullopt;
  if (text->starts_with("0x")) {
    const auto value = parse_number<std::uint64_t>(text->substr(2), 16);
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
  }
  if (const auto value = parse_number<std::int64_t>(*text)) return static_cast<double>(*value);
  if (const auto value = parse_number<std::uint64_t>(*text)) return static_cast<double>(*value);
  return std::nullopt;
}

bool AttributeReader::exists(std::initializer_list<std::string_view> parts) {
  const int base = set_path(parts);
  return ::faccessat(base, path_.c_str(), F_OK, 0) == 0;
}

std::uint64_t AttributeReader::identity(std::initializer_list<std::string_view> parts) {
  const int base = set_path(parts);
  struct stat status{};
  return ::fstatat(base, path_.c_str(), &status, 0) == 0 ? status.st_ino : 0;
}

bool KeptDirectory::rewind() {
  if (stream_) {
    ::rewinddir(stream_.get());
    return true;
  }
  const int fd = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  stream_.reset(::fdopendir(fd));
  if (!stream_) ::close(fd);
  return stream_ != nullptr;
}

const char* KeptDirectory::next() {
  while (const dirent* entry = ::readdir(stream_.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") return entry->d_name;
  }
  return nullptr;
}

}  // namespace dynolog
