// The RPC's listeners and connections: concurrent, bounded, every request answered.
//
// Limits: a request of 1 MiB, 10 s to complete one, `max_connections`, an idle limit, a limit per
// tenant's uid (root is exempt). Own methods keep the connection, the five existing calls close it
// after their reply. HTTP gets an HTTP 400 with a sentence.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "net/event_loop.h"
#include "net/peer_identity.h"
#include "processes/identity.h"
#include "rpc/options.h"
#include "rpc/services.h"

namespace dynolog::rpc {

// Who a peer is, decided with the procs worker. Implemented by the daemon.
class CallerResolver {
 public:
  virtual ~CallerResolver() = default;
  virtual void resolve_unix(const UnixPeer& peer, std::function<void(Result<Caller>)> done) = 0;
  virtual void resolve_tcp(const TcpPeer& peer, std::function<void(Result<Caller>)> done) = 0;
};

struct ServerCounters {
  std::uint64_t connections = 0;  // gauge
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;         // answered with an error
  std::uint64_t malformed = 0;      // bad length, bad JSON
  std::uint64_t http = 0;           // HTTP spoken to it
  std::uint64_t timed_out = 0;      // request not complete in time, or idle
  std::uint64_t over_limit = 0;     // closed because of a limit on connections
  std::uint64_t not_identified = 0;
};

class Server {
 public:
  struct Listening {
    std::string name;     // "unix:/run/dynolog/dynolog.sock", "tcp:127.0.0.1:1778"
    bool up = false;
    std::string problem;  // one sentence: the address is taken, by whom
  };
  // Never fails as a whole: a listener that cannot be had is degraded and named.
  [[nodiscard]] static std::unique_ptr<Server> start(EventLoop& loop, Log& log,
                                                     ServerOptions options, Services services,
                                                     CallerResolver& resolver);
  virtual ~Server() = default;  // closes all
  [[nodiscard]] virtual std::vector<Listening> listening() const = 0;
  [[nodiscard]] virtual int tcp_port() const = 0;  // the one bound, for port 0
  [[nodiscard]] virtual ServerCounters counters() const = 0;
};

}  // namespace dynolog::rpc
