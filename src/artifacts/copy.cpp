// copy_file_range where the kernel can, read and write where it cannot, zlib for the rest.
//
// Compression has a thread of its own because it is to give way to the training, and niceness
// cannot be taken back: a process without privileges that made itself nicer would check the next
// trace at that priority too.
#include "artifacts/copy.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "traces/gzip_deflater.h"

namespace dynolog {
namespace {

using End = CopyResult::End;

constexpr std::size_t kBuffer = 256U << 10U;
constexpr int kNice = 10;

// What is done each time another step has been read: `meanwhile` is called, and what was written is
// sent on to the disk. Otherwise gigabytes of it would gather in memory that the job could use, and
// the sync at the end would stand deaf for minutes.
class Steps {
 public:
  Steps(int to, const std::function<void()>& meanwhile) : to_(to), meanwhile_(meanwhile) {}
  void at(const CopyResult& copied) {
    if (copied.read / kCopyStep == told_) return;
    told_ = copied.read / kCopyStep;
    send_on(static_cast<off64_t>(copied.written));
    if (meanwhile_) meanwhile_();
  }

 private:
  // Begins with the last step and waits for the one before. What cannot do this (a pipe) need not.
  void send_on(off64_t written) {
    ::sync_file_range(to_, begun_, written - begun_, SYNC_FILE_RANGE_WRITE);
    if (begun_ > on_disk_) {
      ::sync_file_range(
          to_, on_disk_, begun_ - on_disk_,
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    }
    on_disk_ = begun_;
    begun_ = written;
  }

  int to_;
  const std::function<void()>& meanwhile_;
  std::uint64_t told_ = 0;
  off64_t begun_ = 0;
  off64_t on_disk_ = 0;
};

// False when it failed, which is in the result then.
bool read_some(int from, std::string& buffer, std::uint64_t bytes, std::string_view& got,
               CopyResult& result) {
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), bytes - result.read));
  ssize_t count = -1;
  do {
    count = ::pread(from, buffer.data(), most, static_cast<off_t>(result.read));
  } while (count < 0 && errno == EINTR);
  if (count <= 0) {
    result.end = count == 0 ? End::cut_short : End::read_failed;
    result.error = count == 0 ? 0 : errno;
    return false;
  }
  got = std::string_view(buffer.data(), static_cast<std::size_t>(count));
  result.read += got.size();
  return true;
}

bool write_all_of(int to, std::string_view bytes, CopyResult& result) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(to, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      result.end = End::write_failed;
      result.error = errno;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
    result.written += static_cast<std::uint64_t>(put);
  }
  return true;
}

// Inside the kernel, on some file systems without touching a byte. False when something is left to
// do by hand: whatever else is wrong comes again there, and can be told apart there.
bool copy_in_kernel(int from, int to, std::uint64_t bytes, CopyResult& result, Steps& steps) {
  while (result.read < bytes) {
    auto offset = static_cast<off64_t>(result.read);
    const auto most = static_cast<std::size_t>(std::min(bytes - result.read, kCopyStep));
    const ssize_t count = ::copy_file_range(from, &offset, to, nullptr, most, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    result.read += static_cast<std::uint64_t>(count);
    result.written = result.read;
    steps.at(result);
  }
  return true;
}

CopyResult deflate_bytes(int from, int to, std::uint64_t bytes,
                         const std::function<void()>& meanwhile) {
  CopyResult result;
  GzipDeflater deflater;
  if (!deflater.ready()) {
    result.end = End::no_memory;
    return result;
  }
  const auto write = [&](std::string_view made) { return write_all_of(to, made, result); };
  Steps steps(to, meanwhile);
  std::string buffer(kBuffer, '\0');
  std::string_view got;
  while (result.read < bytes) {
    if (!read_some(from, buffer, bytes, got, result) || !deflater.feed(got, false, write)) {
      return result;
    }
    steps.at(result);
  }
  deflater.feed({}, true, write);
  return result;
}

// What the compressing thread tells the one that waits.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  bool stepped = false;
  bool done = false;

  void tell(bool Progress::* what) {
    {
      const std::lock_guard lock(mutex);
      this->*what = true;
    }
    changed.notify_one();
  }
  // Returns when all is done, and was told of.
  void wait(const std::function<void()>& meanwhile) {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stepped || done; });
      if (!stepped) return;
      stepped = false;
      lock.unlock();
      if (meanwhile) meanwhile();
      lock.lock();
    }
  }
};

void become_nicer() {
  // Both calls mean this thread alone.
  const int nice = std::max(::getpriority(PRIO_PROCESS, 0), kNice);
  ::setpriority(PRIO_PROCESS, 0, nice);
}

}  // namespace

CopyResult copy_bytes(int from, int to, std::uint64_t bytes,
                      const std::function<void()>& meanwhile) {
  CopyResult result;
  Steps steps(to, meanwhile);
  if (copy_in_kernel(from, to, bytes, result, steps)) return result;
  std::string buffer(kBuffer, '\0');
  std::string_view got;
  while (result.read < bytes) {
    if (!read_some(from, buffer, bytes, got, result) || !write_all_of(to, got, result)) break;
    steps.at(result);
  }
  return result;
}

CopyResult compress_bytes(int from, int to, std::uint64_t bytes,
                          const std::function<void()>& meanwhile) {
  CopyResult result;
  Progress progress;
  const auto work = [&] {
    become_nicer();
    result = deflate_bytes(from, to, bytes, [&] { progress.tell(&Progress::stepped); });
    progress.tell(&Progress::done);
  };
  std::jthread thread;
  try {
    thread = std::jthread(work);
  } catch (const std::system_error&) {
    // The user may start no more threads: at this one's priority, then.
    return deflate_bytes(from, to, bytes, meanwhile);
  }
  progress.wait(meanwhile);
  thread.join();
  return result;
}

}  // namespace dynolog
