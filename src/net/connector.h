// Connecting to a host by name or address, or to a unix socket, within a deadline.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "net/event_loop.h"

namespace dynolog {

struct Destination {
  std::string host{};  // a name, an IPv4 or an IPv6 address
  int port = 0;
  std::string unix_path{};  // instead of the two: begins with '/', or with '@' for an abstract name

  [[nodiscard]] std::string text() const;  // "node7:4318", "[::1]:4318", "/run/x.sock"
};

// All on the loop's thread.
class Connector {
 public:
  using Done = std::function<void(Result<UniqueFd>)>;  // non-blocking

  // `executable`: see HostResolver. `log` outlives the connector.
  [[nodiscard]] static std::unique_ptr<Connector> make(EventLoop& loop, Log& log,
                                                       std::string executable);
  // Gives up what is under way; its `done` is then not called.
  virtual ~Connector() = default;

  // A name's addresses are tried one after another, each for its share of the time. Another call
  // gives up the one before. `done` is called later, never before this returns.
  virtual void connect(const Destination& to, std::chrono::milliseconds patience, Done done) = 0;
  virtual void cancel() = 0;
};

}  // namespace dynolog
