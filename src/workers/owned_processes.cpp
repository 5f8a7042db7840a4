// Roots first, then the drop.
#include "workers/owned_processes.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "workers/drop_privileges.h"
#include "workers/proc_entry.h"

namespace dynolog {
namespace {

// The root, once it is certain whose it is. `ids` gets those of the first process that is there.
Result<UniqueFd> open_root(const SystemRoot& root, const FilesIdentity& identity,
                           std::optional<OwnerIds>& ids) {
  const Pid pid = identity.process.pid;
  const auto entry = ProcEntry::open(root, pid);
  if (!entry) return std::unexpected(entry.error());
  const auto stat = entry->stat();
  if (!stat) return std::unexpected(stat.error());
  if (stat->start_ticks != identity.process.start_ticks) {
    return fail(ErrorKind::not_found,
                fmt::format("process {} has ended, and its pid is another's", pid.value));
  }
  auto opened = entry->open_root();
  if (!opened) return opened;
  // After the open: a process that changed its user before it is seen, and its root with it.
  const auto status = entry->status();
  if (!status) return std::unexpected(status.error());
  if (status->uids[1] != identity.uid.value) {
    return fail(ErrorKind::denied, fmt::format("process {} is now of uid {}, not {}", pid.value,
                                               status->uids[1], identity.uid.value));
  }
  if (!ids) ids = OwnerIds{identity.uid, status->gids[1], status->groups};
  return opened;
}

}  // namespace

Result<OwnedProcesses> OwnedProcesses::take(const SystemRoot& root,
                                            const std::vector<FilesIdentity>& identities) {
  if (identities.empty()) return fail(ErrorKind::invalid, "no process to serve");
  OwnedProcesses owned;
  owned.uid_ = identities.front().uid;
  std::optional<OwnerIds> ids;
  std::optional<Error> last_error;
  for (const FilesIdentity& identity : identities) {
    if (identity.uid != owned.uid_) {
      return fail(ErrorKind::invalid, "the processes are of several users");
    }
    auto opened = open_root(root, identity, ids);
    if (!opened) last_error = opened.error();
    owned.roots_.insert_or_assign(identity.process.pid, std::move(opened));
  }
  if (!ids) return std::unexpected(std::move(*last_error));
  if (auto dropped = drop_privileges(*ids); !dropped) {
    return std::unexpected(std::move(dropped.error()));
  }
  return owned;
}

Result<int> OwnedProcesses::root_of(Pid pid) const {
  const auto found = roots_.find(pid);
  if (found == roots_.end()) {
    return fail(ErrorKind::denied, fmt::format("this worker does not serve process {}", pid.value));
  }
  if (!found->second) return std::unexpected(found->second.error());
  return found->second->get();
}

}  // namespace dynolog
