// The daemon: owns every part, in dependency order, and joins what it started.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/system_root.h"
#include "config/options.h"
#include "daemon/daemon_log.h"
#include "net/service_manager.h"

namespace dynolog {

// What main() found out about the process it runs in.
struct DaemonWorld {
  const Clock& clock;
  DaemonLog& log;
  ServiceManager& service;
  // What the manager handed over at the start.
  Result<std::vector<StoredDescriptor>> stored;
  SystemRoot root;
  Uid uid;                               // effective
  bool system_mode = false;              // root
  bool system_daemon_installed = false;  // then a user's daemon leaves the abstract name alone
  std::string xdg_runtime_dir;           // "" when unset
  std::string state_dir;                 // where none is named; "": nowhere
  std::string version;
  std::string host;
  std::string executable;                       // what workers are re-executed from
  std::function<Result<CommandLine>()> reload;  // reads the configuration anew, at SIGHUP
};

class Daemon {
 public:
  // An error is one clear line: the daemon cannot run at all (its run directory, above all). What
  // only degrades it is logged and shown in `dyno status`.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> start(DaemonWorld world, Options options);
  virtual ~Daemon() = default;

  // Serves until SIGTERM or SIGINT. An error as above: nothing can be measured.
  [[nodiscard]] virtual Status run() = 0;
};

}  // namespace dynolog
