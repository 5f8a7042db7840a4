// Who a peer is, decided with the procs worker. Implemented by the daemon.
#pragma once

#include <functional>

#include "base/error.h"
#include "net/peer_identity.h"
#include "processes/identity.h"

namespace dynolog::rpc {

class CallerResolver {
 public:
  virtual ~CallerResolver() = default;
  // `done` is called once, at once or later, on the loop's thread. The peer is only valid during
  // the call.
  virtual void resolve_unix(const UnixPeer& peer, std::function<void(Result<Caller>)> done) = 0;
  virtual void resolve_tcp(const TcpPeer& peer, std::function<void(Result<Caller>)> done) = 0;
};

}  // namespace dynolog::rpc
