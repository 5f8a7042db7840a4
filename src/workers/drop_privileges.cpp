// Ids, groups and capabilities, dropped and then verified.
#include "workers/drop_privileges.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "workers/files_worker.h"

namespace dynolog {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // their shadow memory is larger than any sensible limit
#else
constexpr bool kSanitized = false;
#endif

// Of addresses, not of memory: the program and its libraries, the checker's 64 MiB, what malloc
// sets aside for the thread that compresses (128 MiB and its stack).
constexpr rlim_t kMaxAddressSpace = 512UL << 20U;
// Six for a process (root, file and elsewhere, target, the file that was checked with its
// directory), ten at most.
constexpr rlim_t kMaxDescriptors = 10UL * kMaxFilesIdentities + 64;

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

__user_cap_header_struct capability_header() {
  return {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
}

// The bounding set only shrinks what an exec could regain; without CAP_SETPCAP it stays.
void drop_bounding_set() {
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) break;
  }
}

Status take_ids(const OwnerIds& owner) {
  const auto uid = static_cast<uid_t>(owner.uid.value);
  if (::geteuid() != 0) {
    if (::geteuid() == uid) return {};
    return fail(ErrorKind::denied,
                fmt::format("the daemon runs as uid {} and cannot act for uid {}: run it as root",
                            ::geteuid(), uid));
  }
  if (::setgroups(owner.groups.size(), owner.groups.data()) != 0) {
    return fail_errno(errno, "setting the groups");
  }
  if (::setresgid(owner.gid, owner.gid, owner.gid) != 0) {
    return fail_errno(errno, "setting the group");
  }
  if (::setresuid(uid, uid, uid) != 0) return fail_errno(errno, "setting the user");
  return {};
}

Status clear_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header = capability_header();
  const CapabilitySets none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) {
    return fail_errno(errno, "clearing the capabilities");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "no_new_privs");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fail_errno(errno, "not dumpable");
  return {};
}

bool has_no_capability() {
  __user_cap_header_struct header = capability_header();
  CapabilitySets sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  return std::ranges::all_of(sets, [](const __user_cap_data_struct& set) {
    return set.effective == 0 && set.permitted == 0 && set.inheritable == 0;
  });
}

bool has_ids(const OwnerIds& owner, bool groups_too) {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  if (::getresuid(&real, &effective, &saved) != 0) return false;
  const auto uid = static_cast<uid_t>(owner.uid.value);
  if (real != uid || effective != uid || saved != uid) return false;
  if (!groups_too) return true;
  gid_t real_group = 0;
  gid_t effective_group = 0;
  gid_t saved_group = 0;
  if (::getresgid(&real_group, &effective_group, &saved_group) != 0) return false;
  if (real_group != owner.gid || effective_group != owner.gid || saved_group != owner.gid) {
    return false;
  }
  const int count = ::getgroups(0, nullptr);
  if (count < 0) return false;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgroups(count, groups.data()) != count) return false;
  std::vector<gid_t> wanted(owner.groups.begin(), owner.groups.end());
  std::ranges::sort(groups);
  std::ranges::sort(wanted);
  return groups == wanted;
}

}  // namespace

Status drop_privileges(const OwnerIds& owner) {
  const bool as_root = ::geteuid() == 0;
  if (as_root) drop_bounding_set();
  if (auto taken = take_ids(owner); !taken) return taken;
  if (auto cleared = clear_capabilities(); !cleared) return cleared;
  if (!has_ids(owner, as_root) || !has_no_capability() ||
      ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
    return fail(ErrorKind::failed, "privileges are still there after they were dropped");
  }
  return {};
}

void limit_resources() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (!kSanitized) {
    const rlimit memory{kMaxAddressSpace, kMaxAddressSpace};
    ::setrlimit(RLIMIT_AS, &memory);
  }
  // While it is still root, which may raise what the daemon was given.
  const rlimit any_size{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_FSIZE, &any_size);
  ::signal(SIGXFSZ, SIG_IGN);  // where it may not: an error (EFBIG) in place of its end
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    descriptors.rlim_cur = std::min(descriptors.rlim_max, kMaxDescriptors);
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
  }
}

}  // namespace dynolog
