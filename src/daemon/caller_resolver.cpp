// The rules of who a caller is, over what the procs worker reads.
#include "daemon/caller_resolver.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace dynolog {
namespace {

// A pidfd is readable once its process has ended.
bool still_alive(int pidfd) {
  pollfd waiting{pidfd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

bool root_of_host(const SocketHolder& holder) {
  return holder.uid == kRootUid && holder.container.empty() && holder.host_namespaces;
}

}  // namespace

void ProcsCallerResolver::resolve_unix(const UnixPeer& peer,
                                       std::function<void(Result<Caller>)> done) {
  // A copy of the pidfd pins the process until its facts are read: a reused pid is not the caller.
  auto pidfd = std::make_shared<UniqueFd>(::fcntl(peer.pidfd.get(), F_DUPFD_CLOEXEC, 0));
  const Uid uid = peer.uid;
  const Pid pid = peer.pid;
  for_unix_.holder_facts(
      pid, [pidfd, uid, pid, done = std::move(done)](Result<SocketHolder> holder) {
        if (!holder) {
          done(fail(ErrorKind::not_identified, "cannot tell who calls: " + holder.error().message));
          return;
        }
        if (!pidfd->valid() || !still_alive(pidfd->get())) {
          done(fail(ErrorKind::not_identified, "the calling process has ended"));
          return;
        }
        Caller caller;
        // The uid is that of connect(); the container is the process's.
        caller.tenant = {uid, holder->container};
        caller.host_root = uid == kRootUid && holder->container.empty() && holder->host_namespaces;
        caller.pid = pid;
        caller.via = "unix";
        done(std::move(caller));
      });
}

void ProcsCallerResolver::resolve_tcp(const TcpPeer& peer,
                                      std::function<void(Result<Caller>)> done) {
  for_tcp_.socket_holders(
      peer.inode, peer.uid,
      [uid = peer.uid, done = std::move(done)](Result<std::vector<SocketHolder>> holders) {
        if (!holders) {
          done(
              fail(ErrorKind::not_identified, "cannot tell who calls: " + holders.error().message));
          return;
        }
        done(caller_from_holders(*holders, uid));
      });
}

Result<Caller> caller_from_holders(const std::vector<SocketHolder>& holders, Uid socket_uid) {
  if (holders.empty()) {
    return fail(ErrorKind::not_identified,
                "no process was found that holds the calling socket: use the unix socket");
  }
  Caller caller;
  caller.tenant = {holders.front().uid, holders.front().container};
  for (const SocketHolder& holder : holders) {
    if (Tenant{holder.uid, holder.container} != caller.tenant) {
      return fail(ErrorKind::not_identified,
                  "the calling socket is held by processes of different users or containers");
    }
  }
  if (caller.tenant.uid == kOverflowUid) {
    return fail(ErrorKind::not_identified, "the calling user has no mapping on this host");
  }
  // Anybody may send his connected socket to a service of root's and close his own copy. The
  // socket's uid stays his, unless he has CAP_CHOWN.
  if (caller.tenant.uid != socket_uid) {
    return fail(ErrorKind::not_identified,
                "the calling socket was made by another user than the one that holds it: use the "
                "unix socket");
  }
  caller.host_root = std::all_of(holders.begin(), holders.end(), root_of_host);
  caller.pid = holders.front().key.pid;
  caller.via = "tcp";
  return caller;
}

}  // namespace dynolog
