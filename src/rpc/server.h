// The RPC's listeners and connections: concurrent, bounded, every request answered.
//
// Limits: a request of 1 MiB, 10 s to complete one, `max_connections`, an idle limit, a limit per
// uid over the unix socket and one over TCP (root and the daemon's own user are exempt on the unix
// socket). Own methods keep the connection, the five
// existing calls close it after their reply. HTTP gets an HTTP 400 with a sentence.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/event_loop.h"
#include "rpc/caller_resolver.h"
#include "rpc/counters.h"
#include "rpc/metrics_service.h"
#include "rpc/options.h"
#include "rpc/services.h"

namespace dynolog::rpc {

class Server {
 public:
  struct Listening {
    std::string name;  // "unix:/run/dynolog/dynolog.sock", "tcp:127.0.0.1:1778"
    bool up = false;
    std::string problem;  // one sentence: the address is taken, by whom
  };
  // Never fails as a whole: a listener that cannot be had is degraded and named.
  [[nodiscard]] static std::unique_ptr<Server> start(EventLoop& loop, Log& log,
                                                     ServerOptions options, Services services,
                                                     MetricsService& metrics,
                                                     CallerResolver& resolver);
  virtual ~Server() = default;  // closes all
  [[nodiscard]] virtual std::vector<Listening> listening() const = 0;
  [[nodiscard]] virtual int tcp_port() const = 0;  // the one bound, for port 0
  [[nodiscard]] virtual ServerCounters counters() const = 0;
  // For requests and connections from now on. Of those that are open none is closed, but an idle
  // one has no more than the new idle time left.
  virtual void set_limits(const ServerLimits& limits) = 0;
};

}  // namespace dynolog::rpc
