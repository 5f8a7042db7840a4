// Two small files of /proc, and only those: they never wait for the process.
#include "ipc/client_identity.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/file.h"
#include "processes/identity.h"  // brings the parsers of /proc/<pid>

namespace dynolog {
namespace {

constexpr std::size_t kMaxFile = 64U << 10U;
// One tick of the start time, and the difference of two clock readings.
constexpr Nanoseconds kTolerance = Milliseconds(20);

}  // namespace

bool holds_pid(int pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == 0 || errno != ESRCH;
}

bool has_ended(int pidfd) {
  pollfd entry{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) != 0;
}

int open_pidfd(Pid pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid.value, 0)); }

Result<ClientIdentity> read_identity(const SystemRoot& root, Pid pid, int pidfd) {
  const std::string directory = fmt::format("{}/{}", root.proc, pid.value);
  const auto status_text = read_file(directory + "/status", kMaxFile);
  if (!status_text) return std::unexpected(status_text.error());
  const auto stat_text = read_file(directory + "/stat", kMaxFile);
  if (!stat_text) return std::unexpected(stat_text.error());
  // What was read is of this process only if it still holds the pid now.
  if (!holds_pid(pidfd)) return fail(ErrorKind::not_found, "the process has ended");
  const auto status = parse_proc_pid_status(*status_text);
  if (!status) return std::unexpected(status.error());
  const auto stat = parse_proc_pid_stat(*stat_text);
  if (!stat) return std::unexpected(stat.error());
  const Uid uid{status->uids[1]};
  if (uid == kOverflowUid) return fail(ErrorKind::denied, "the process's user is not known here");
  return ClientIdentity{.uid = uid, .start_ticks = stat->start_ticks};
}

bool started_before(std::uint64_t start_ticks, WallTime queued) {
  timespec boot{};
  timespec wall{};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const Nanoseconds since_boot = std::chrono::seconds(boot.tv_sec) + Nanoseconds(boot.tv_nsec);
  const Nanoseconds since_epoch = std::chrono::seconds(wall.tv_sec) + Nanoseconds(wall.tv_nsec);
  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  const Nanoseconds started = Nanoseconds(std::chrono::seconds(1)) / ticks_per_second *
                              static_cast<std::int64_t>(start_ticks);
  const Nanoseconds queued_since_boot = queued.time_since_epoch() - since_epoch + since_boot;
  return started <= queued_since_boot + kTolerance;
}

}  // namespace dynolog
