// Where a daemon may be found. Pure but for endpoint_problem().
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/global_options.h"
#include "cli/world.h"

namespace dynolog {

struct Endpoint {
  std::string unix_path;     // "" for TCP
  std::string private_root;  // a directory that must be the caller's own, or ""
  std::string host;
  int port = 0;

  [[nodiscard]] bool is_tcp() const { return unix_path.empty(); }
  // On this host as far as one can tell: the unix socket or a loopback name.
  [[nodiscard]] bool is_local() const;
  [[nodiscard]] std::string text() const;  // "/run/dynolog/dynolog.sock", "node7:1778"
};

// In the order they are tried. --hostname or --port mean TCP; --run-dir means that one daemon;
// otherwise the caller's own daemon, then the system's.
[[nodiscard]] std::vector<Endpoint> endpoints(const GlobalOptions& options, const World& world);

// Another user's directory in a place where everybody may make one is not trusted.
[[nodiscard]] Status endpoint_problem(const Endpoint& endpoint, std::uint32_t uid);

}  // namespace dynolog
