// One connection: reads requests, finds out who asks where that matters, runs the method, and sends
// replies, one request at a time. While a trace is followed the connection is read only to notice
// its end: a further request then is answered with bad_request and ends the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "net/event_loop.h"
#include "net/receive_watchdog.h"
#include "rpc/authorise.h"
#include "rpc/counters.h"
#include "rpc/metrics_service.h"
#include "rpc/options.h"
#include "rpc/services.h"

namespace dynolog::rpc {

// What all connections of a server share. Outlives them.
struct ConnectionContext {
  EventLoop& loop;
  const ServerOptions& options;
  Services& services;
  MetricsService& metrics;
  CallerResolver& resolver;
  ServerCounters& counters;
  std::span<char> scratch;  // received bytes, until they are decoded
  // Followings that ended in their own callback, to be destroyed a moment later; the server's end
  // destroys them at the latest.
  std::shared_ptr<std::vector<std::unique_ptr<TraceService::Following>>> ended_followings;
  // For unix sockets; none where the kernel refuses descriptors.
  const std::unique_ptr<ReceiveWatchdog>& watchdog;
  std::function<void(std::uint64_t id)> closed;
};

class Connection {
 public:
  // `id` counts up: the greater one came later.
  [[nodiscard]] static std::shared_ptr<Connection> open(ConnectionContext& context,
                                                        std::uint64_t id, UniqueFd socket,
                                                        Transport transport);
  virtual ~Connection() = default;
  // Reads at once; may close, too.
  virtual void start() = 0;
  // The context's options have another one: counts from now.
  virtual void idle_time_changed() = 0;
  // At once, with an error frame where there is room for it.
  virtual void close_with(const ErrorReply& error) = 0;
  // At once and silently; nothing is called back. For the server's end.
  virtual void abandon() = 0;
  // Whose connection it is, for limits only; nullopt when nobody can say. Looked up once. Over TCP
  // it is what the socket says, which somebody with subordinate uids or in a container chooses.
  [[nodiscard]] virtual std::optional<Uid> uid_for_limits() = 0;
};

// An error frame and an orderly end for a socket that gets no connection.
void turn_away(UniqueFd socket, const ErrorReply& error);

}  // namespace dynolog::rpc
