// Turns a socket's peer into a caller: uid, container, and whether it is root of the host.
#pragma once

#include "processes/identity.h"
#include "rpc/caller_resolver.h"
#include "workers/procs_worker.h"

namespace dynolog {

class ProcsCallerResolver final : public rpc::CallerResolver {
 public:
  explicit ProcsCallerResolver(ProcsWorker& procs) : procs_(procs) {}

  void resolve_unix(const UnixPeer& peer, std::function<void(Result<Caller>)> done) override;
  void resolve_tcp(const TcpPeer& peer, std::function<void(Result<Caller>)> done) override;

 private:
  ProcsWorker& procs_;
};

// Pure: the caller behind a TCP socket, by whoever holds it. None, holders of different tenants, or
// of another user than the socket's own: refused. Uid 0 is root of the host only when every holder
// is.
[[nodiscard]] Result<Caller> caller_from_holders(const std::vector<SocketHolder>& holders,
                                                 Uid socket_uid);

}  // namespace dynolog
