// Turns a socket's peer into a caller: uid, container, and whether it is root of the host.
#pragma once

#include "processes/identity.h"
#include "rpc/caller_resolver.h"
#include "workers/procs_worker.h"

namespace dynolog {

class ProcsCallerResolver final : public rpc::CallerResolver {
 public:
  // Two workers: who holds a TCP socket is looked for in every process, which anybody can make slow
  // (by half a million descriptors, for example); callers on the unix socket do not wait for that.
  ProcsCallerResolver(ProcsWorker& for_unix, ProcsWorker& for_tcp)
      : for_unix_(for_unix), for_tcp_(for_tcp) {}

  void resolve_unix(const UnixPeer& peer, std::function<void(Result<Caller>)> done) override;
  void resolve_tcp(const TcpPeer& peer, std::function<void(Result<Caller>)> done) override;

 private:
  ProcsWorker& for_unix_;
  ProcsWorker& for_tcp_;
};

// Pure: the caller behind a TCP socket, by whoever holds it. None, holders of different tenants, or
// of another user than the socket's own: refused. Uid 0 is root of the host only when every holder
// is.
[[nodiscard]] Result<Caller> caller_from_holders(const std::vector<SocketHolder>& holders,
                                                 Uid socket_uid);

}  // namespace dynolog
