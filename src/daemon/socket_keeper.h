// The Kineto sockets in the service manager's keeping: taken back at the start, given anew when
// they are made anew, and let go when they are served no more.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "ipc/handed_socket.h"
#include "ipc/kineto_thread.h"
#include "net/service_manager.h"

namespace dynolog {

// How an endpoint's socket is called there: "kineto-abstract", "kineto-/run/dynolog/kineto".
[[nodiscard]] std::string kept_name(const std::string& endpoint);

// On the loop's thread only.
class SocketKeeper {
 public:
  SocketKeeper(ServiceManager& manager, Log& log) : manager_(manager), log_(log) {}

  // Whether anybody keeps sockets at all.
  [[nodiscard]] bool keeps() const { return manager_.present(); }
  // Once, at the start: what was kept of these endpoints. Anything else is let go, and named in the
  // log; it was of endpoints that are no longer served, or is not ours.
  [[nodiscard]] std::vector<HandedSocket> take_back(Result<std::vector<StoredDescriptor>> stored,
                                                    const std::vector<std::string>& endpoints);
  void on_state(const KinetoEndpointState& state);

 private:
  ServiceManager& manager_;
  Log& log_;
};

}  // namespace dynolog
