// Two small files of /proc, and only those: they never wait for the process. Newer kernels tell the
// user without a file, for a tenth of the cost.
#include "ipc/client_identity.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
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

// Of Linux 6.13; newer than the C library of the base line.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t pid, tgid, ppid;
  std::uint32_t real_uid, real_gid;
  std::uint32_t effective_uid, effective_gid;
  std::uint32_t saved_uid, saved_gid;
  std::uint32_t file_system_uid, file_system_gid;
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kPidfdInfoPid = 1U << 0U;
constexpr std::uint64_t kPidfdInfoCredentials = 1U << 1U;

// The effective user; nullopt where the kernel does not say it so.
std::optional<Uid> uid_by_pidfd(Pid pid, int pidfd) {
  PidfdInfo info{};
  info.mask = kPidfdInfoPid | kPidfdInfoCredentials;
  if (::ioctl(pidfd, _IOWR(0xff, 11, PidfdInfo), &info) != 0) return std::nullopt;
  if ((info.mask & kPidfdInfoCredentials) == 0) return std::nullopt;
  // Seen from a pid namespace that it is not in, a process has another pid or none.
  if (info.pid != static_cast<std::uint32_t>(pid.value)) return std::nullopt;
  return Uid{info.effective_uid};
}

// What was read is of the process only if it still holds the pid afterwards.
Result<std::string> read_of(const SystemRoot& root, Pid pid, int pidfd, std::string_view name) {
  auto text = read_file(fmt::format("{}/{}/{}", root.proc, pid.value, name), kMaxFile);
  if (text && !holds_pid(pidfd)) return fail(ErrorKind::not_found, "the process has ended");
  return text;
}

Result<Uid> uid_by_status(const SystemRoot& root, Pid pid, int pidfd) {
  const auto text = read_of(root, pid, pidfd, "status");
  if (!text) return std::unexpected(text.error());
  const auto status = parse_proc_pid_status(*text);
  if (!status) return std::unexpected(status.error());
  return Uid{status->uids[1]};
}

}  // namespace

bool holds_pid(int pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == 0 || errno != ESRCH;
}

bool has_ended(int pidfd) {
  pollfd entry{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) != 0;
}

int open_pidfd(Pid pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid.value, 0)); }

Result<Uid> read_user(const SystemRoot& root, Pid pid, int pidfd) {
  const auto told = uid_by_pidfd(pid, pidfd);
  const auto uid = told ? Result<Uid>(*told) : uid_by_status(root, pid, pidfd);
  if (uid && *uid == kOverflowUid) {
    return fail(ErrorKind::denied, "the process's user is not known here");
  }
  return uid;
}

Result<std::uint64_t> read_start(const SystemRoot& root, Pid pid, int pidfd) {
  const auto text = read_of(root, pid, pidfd, "stat");
  if (!text) return std::unexpected(text.error());
  const auto stat = parse_proc_pid_stat(*text);
  if (!stat) return std::unexpected(stat.error());
  return stat->start_ticks;
}

Result<ClientIdentity> read_identity(const SystemRoot& root, Pid pid, int pidfd) {
  const auto uid = read_user(root, pid, pidfd);
  if (!uid) return std::unexpected(uid.error());
  const auto start = read_start(root, pid, pidfd);
  if (!start) return std::unexpected(start.error());
  return ClientIdentity{.uid = *uid, .start_ticks = *start};
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
