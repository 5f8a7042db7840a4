// By the kernel's word on the socket that is connected.
#include "cli/daemon_owner.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <ostream>

namespace dynolog {

std::string whom_it_serves(std::uint32_t asking, std::uint32_t daemon, const std::string& where) {
  constexpr std::uint32_t kRoot = 0;
  if (asking != kRoot || daemon == kRoot) return {};
  return fmt::format(
      "the daemon at {} is the own one of uid {} and serves that user alone, not root: ask as that "
      "user, for example with `sudo -u '#{}' dyno ...`",
      where, daemon, daemon);
}

void say_whom_it_serves(const Client& client) {
  if (client.endpoint().is_tcp() || client.fd() < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(client.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  const World& world = client.world();
  const std::string said = whom_it_serves(world.uid, peer.uid, client.endpoint().text());
  if (said.empty()) return;
  world.out.flush();
  world.err << "dyno: note: " << said << "\n";
}

}  // namespace dynolog
