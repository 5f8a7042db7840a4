// Attribute files and directories.
#include "kernel/sysfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace dynolog {

void AttributeReader::set_path(std::initializer_list<std::string_view> parts) {
  path_ = directory_;
  for (const std::string_view part : parts) {
    path_ += '/';
    path_ += part;
  }
}

std::optional<std::string_view> AttributeReader::read(
    std::initializer_list<std::string_view> parts) {
  set_path(parts);
  error_ = 0;
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) {
    error_ = errno;
    return std::nullopt;
  }
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
  set_path(parts);
  return ::access(path_.c_str(), F_OK) == 0;
}

std::uint64_t AttributeReader::identity(std::initializer_list<std::string_view> parts) {
  set_path(parts);
  struct stat status{};
  return ::stat(path_.c_str(), &status) == 0 ? status.st_ino : 0;
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
