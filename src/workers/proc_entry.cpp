// Reading below /proc/<pid> by directory descriptor.
#include "workers/proc_entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

namespace dynolog {
namespace {

constexpr std::size_t kChunk = 64U << 10U;
constexpr std::size_t kMaxStatus = 1U << 20U;  // its list of groups may be long

// Bytes of one read, 0 at the end.
Result<std::size_t> read_some(int fd, char* into, std::size_t size, const char* name) {
  while (true) {
    const ssize_t got = ::read(fd, into, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return fail_errno(errno, name);
  }
}

Result<UniqueFd> open_below(int directory, const char* name, int flags) {
  UniqueFd fd(::openat(directory, name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, name);
  return fd;
}

Result<std::string> link_below(int directory, const char* name) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
  if (size < 0) return fail_errno(errno, name);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

}  // namespace

Result<ProcEntry> ProcEntry::open(const SystemRoot& root, Pid pid) {
  const std::string path = fmt::format("{}/{}", root.proc, pid.value);
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, fmt::format("process {}", pid.value));
  return ProcEntry(std::move(fd));
}

Result<std::string> ProcEntry::read(const char* name, std::size_t max_bytes) const {
  auto fd = open_below(fd_.get(), name, O_RDONLY);
  if (!fd) return std::unexpected(std::move(fd.error()));
  std::string text;
  while (text.size() < max_bytes) {
    const std::size_t old_size = text.size();
    text.resize(std::min(max_bytes, old_size + kChunk));
    auto got = read_some(fd->get(), text.data() + old_size, text.size() - old_size, name);
    if (!got) return std::unexpected(std::move(got.error()));
    text.resize(old_size + *got);
    if (*got == 0) break;
  }
  return text;
}

Result<std::string> ProcEntry::read_link(const char* name) const {
  return link_below(fd_.get(), name);
}

Status ProcEntry::each_line(const char* name, std::size_t max_bytes,
                            const std::function<bool(std::string_view)>& take) const {
  auto fd = open_below(fd_.get(), name, O_RDONLY);
  if (!fd) return std::unexpected(std::move(fd.error()));
  std::string held;  // ends with the part of a line
  std::size_t total = 0;
  while (total < max_bytes) {
    const std::size_t old_size = held.size();
    held.resize(old_size + kChunk);
    auto got = read_some(fd->get(), held.data() + old_size, kChunk, name);
    if (!got) return std::unexpected(std::move(got.error()));
    held.resize(old_size + *got);
    total += *got;
    std::size_t begin = 0;
    for (std::size_t end = held.find('\n'); end != std::string::npos;
         end = held.find('\n', begin)) {
      if (!take(std::string_view(held).substr(begin, end - begin))) return {};
      begin = end + 1;
    }
    held.erase(0, begin);
    if (*got == 0) return {};
  }
  return fail(ErrorKind::exhausted, fmt::format("{}: larger than is looked at", name));
}

Status ProcEntry::each_link(const char* directory, std::size_t max_count,
                            const std::function<bool(std::string_view)>& take) const {
  auto fd = open_below(fd_.get(), directory, O_RDONLY | O_DIRECTORY);
  if (!fd) return std::unexpected(std::move(fd.error()));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd->get()), ::closedir);
  if (!listing) return fail_errno(errno, directory);
  const int listed = fd->release();  // closed with the listing
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (entry->d_name[0] == '.') continue;
    if (++count > max_count) {
      return fail(ErrorKind::exhausted, fmt::format("{}: more than is looked at", directory));
    }
    // A descriptor may be closed while it is listed.
    if (const auto target = link_below(listed, entry->d_name)) {
      if (!take(*target)) return {};
    }
  }
  return {};
}

Result<UniqueFd> ProcEntry::open_root() const {
  return open_below(fd_.get(), "root", O_PATH | O_DIRECTORY);
}

Result<ProcPidStat> ProcEntry::stat() const {
  const auto text = read("stat", kChunk);
  if (!text) return std::unexpected(text.error());
  return parse_proc_pid_stat(*text);
}

Result<ProcPidStatus> ProcEntry::status() const {
  const auto text = read("status", kMaxStatus);
  if (!text) return std::unexpected(text.error());
  return parse_proc_pid_status(*text);
}

}  // namespace dynolog
