// Who a process or a caller is, and who may reach whom.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "kernel/proc_pid.h"

namespace dynolog {

// A process for as long as it lives: pids are reused, a pid with its start time is not.
struct ProcessKey {
  Pid pid;
  std::uint64_t start_ticks = 0;
  auto operator<=>(const ProcessKey&) const = default;
};

// The unit of trust. A uid alone is not enough: a process in a container of the host's user
// namespace can become any uid.
struct Tenant {
  Uid uid;
  std::string container;  // "" on the host; else the runtime's id, from the cgroup
  auto operator<=>(const Tenant&) const = default;
};

struct Caller {
  Tenant tenant;
  // Uid 0, outside containers, in the user, pid and mount namespaces of pid 1.
  bool host_root = false;
  Pid pid;          // 0 when not known
  std::string via;  // "unix", "tcp", for the audit
  // In a user namespace that another uid made: the uid is one of thousands that one user may have.
  bool in_foreign_user_namespace = false;
};

// Own tenant's processes; root of the host all.
[[nodiscard]] bool may_reach(const Caller& caller, const Tenant& target);

// A cgroup's name has at most 255 bytes, and the beginning of the place behind it tells users
// apart.
inline constexpr std::size_t kMaxContainerIdentity = 1024;

// The container's identity from cgroup paths, "ID", or "ID@PLACE" below a place where others than
// root may make cgroups: docker, containerd, cri-o, podman (libpod), Kubernetes
// pods, systemd-nspawn, LXC. "" for anything else: sessions, services, Slurm jobs and Apptainer
// are not containers of another tenant.
[[nodiscard]] std::string container_of(const std::vector<CgroupLine>& cgroup);

}  // namespace dynolog
