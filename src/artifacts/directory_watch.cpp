// inotify on directories that are held by descriptor.
#include "artifacts/directory_watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace dynolog {
namespace {

constexpr std::uint32_t kMask =
    IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
// A busy directory may fill the queue faster than it is read: one read() gives at most this much.
constexpr int kMaxReads = 64;

void append_events(const inotify_event& event, std::string name,
                   std::vector<DirectoryEvent>& events) {
  using What = DirectoryEvent::What;
  const auto add = [&](What what) { events.push_back({event.wd, what, name}); };
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    events.push_back({-1, What::overflow, ""});
    return;
  }
  if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) add(What::created);
  if ((event.mask & (IN_MOVED_TO | IN_CLOSE_WRITE)) != 0) add(What::complete);
  if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) != 0) add(What::gone);
}

}  // namespace

Result<DirectoryWatch> DirectoryWatch::make() {
  UniqueFd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "watching directories (inotify)");
  return DirectoryWatch(std::move(fd));
}

Result<int> DirectoryWatch::add(int directory) {
  const std::string path = fmt::format("/proc/self/fd/{}", directory);
  const int watch = ::inotify_add_watch(fd_.get(), path.c_str(), kMask);
  if (watch >= 0) return watch;
  if (errno == ENOSPC) {
    return fail(ErrorKind::exhausted,
                "the user's inotify watches are used up (fs.inotify.max_user_watches)");
  }
  return fail_errno(errno, "watching the directory");
}

void DirectoryWatch::remove(int watch) { ::inotify_rm_watch(fd_.get(), watch); }

std::vector<DirectoryEvent> DirectoryWatch::read() {
  std::vector<DirectoryEvent> events;
  alignas(inotify_event) std::array<char, 16U << 10U> buffer;
  for (int reads = 0; reads < kMaxReads; ++reads) {
    const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    std::size_t offset = 0;
    while (offset + sizeof(inotify_event) <= static_cast<std::size_t>(got)) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + offset, sizeof(event));
      const char* name = buffer.data() + offset + sizeof(event);
      append_events(event, std::string(name, ::strnlen(name, event.len)), events);
      offset += sizeof(event) + event.len;
    }
  }
  return events;
}

}  // namespace dynolog
