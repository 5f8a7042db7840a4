// Reading a descriptor, and telling gzip from plain JSON by its first bytes.
#include "traces/trace_input.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dynolog {
namespace {

constexpr std::size_t kBlocksBetween = 256;

}  // namespace

TraceInput::TraceInput(int fd, std::function<void()> meanwhile, std::uint64_t max_bytes)
    : fd_(fd), meanwhile_(std::move(meanwhile)), max_bytes_(max_bytes) {}

void TraceInput::look_aside() {
  if (meanwhile_ && ++blocks_ % kBlocksBetween == 0) meanwhile_();
}

std::span<const char> TraceInput::read_file() {
  if (!first_.empty()) return std::exchange(first_, {});
  if (file_bytes_ > max_bytes_) {
    too_large_ = true;
    return {};
  }
  look_aside();
  while (true) {
    const ssize_t got = ::read(fd_, file_block_.data(), file_block_.size());
    if (got >= 0) {
      file_bytes_ += static_cast<std::uint64_t>(got);
      return {file_block_.data(), static_cast<std::size_t>(got)};
    }
    if (errno == EINTR) continue;
    error_number_ = errno;
    return {};
  }
}

std::span<const char> TraceInput::next() {
  if (!begun_) {
    begun_ = true;
    first_ = read_file();
    if (GzipInflater::is_gzip(first_)) gzip_.emplace([this] { return read_file(); });
  }
  if (!gzip_) return read_file();
  if (json_bytes_ > max_bytes_) {
    too_large_ = true;
    return {};
  }
  look_aside();
  const std::size_t size = gzip_->read(json_block_);
  json_bytes_ += size;
  return {json_block_.data(), size};
}

}  // namespace dynolog
