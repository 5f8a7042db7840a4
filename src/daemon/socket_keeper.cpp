// Names are the only thing that the manager says of a socket; the Kineto thread looks at the rest.
#include "daemon/socket_keeper.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"

namespace dynolog {

std::string kept_name(const std::string& endpoint) { return descriptor_name("kineto-" + endpoint); }

std::vector<HandedSocket> SocketKeeper::take_back(Result<std::vector<StoredDescriptor>> stored,
                                                  const std::vector<std::string>& endpoints) {
  if (!stored) {
    log_.warning("the sockets that the service manager kept are made anew: {}",
                 stored.error().message);
    for (const std::string& endpoint : endpoints) manager_.forget(kept_name(endpoint));
    return {};
  }
  std::vector<HandedSocket> handed;
  std::set<std::string> refused;
  for (StoredDescriptor& each : *stored) {
    const auto endpoint = std::ranges::find(endpoints, each.name, kept_name);
    const bool twice =
        endpoint != endpoints.end() &&
        std::ranges::find(handed, *endpoint, &HandedSocket::endpoint) != handed.end();
    if (endpoint != endpoints.end() && !twice) {
      handed.push_back(
          {.endpoint = *endpoint, .socket = std::make_shared<UniqueFd>(std::move(each.fd))});
      continue;
    }
    if (!refused.insert(each.name).second) continue;
    log_.info("let go of a descriptor that the service manager kept as '{}': {}",
              clean_text(each.name, 120),
              twice ? "there are two of that name" : "no such endpoint is served");
    if (!twice) manager_.forget(each.name);
  }
  return handed;
}

void SocketKeeper::on_state(const KinetoEndpointState& state) {
  if (!manager_.present()) return;
  if (!state.not_taken.empty()) {
    log_.warning("kineto:{}: the socket that the service manager kept is not used: {}",
                 state.endpoint, state.not_taken);
  }
  if (state.socket) {
    manager_.store(kept_name(state.endpoint), state.socket->get());
  } else if (!state.not_taken.empty() || state.removed) {
    manager_.forget(kept_name(state.endpoint));
  }
}

}  // namespace dynolog
