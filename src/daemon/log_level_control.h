// Who may change the level of the daemon's log while it runs, and what is said of it.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/system_root.h"
#include "metrics/event.h"
#include "processes/identity.h"
#include "rpc/services.h"

namespace dynolog {

// This process, as a caller is: its user, in the container that it runs in.
[[nodiscard]] Tenant own_tenant(const SystemRoot& root, Uid uid);

// On the loop's thread only.
class LogLevelControl final : public rpc::LogService {
 public:
  struct World {
    const Clock& clock;
    LevelledLog& log;
    Tenant own;
    std::function<LogLevel()> configured;
    // For `dyno status`, which shows a level that somebody forgot; "": it is the configured one.
    std::function<void(const std::string& sentence)> show;
    std::function<void(Event)> publish;
  };
  explicit LogLevelControl(World world) : world_(std::move(world)) {}

  [[nodiscard]] rpc::LogLevelReply log_level() const override;
  [[nodiscard]] Result<rpc::LogLevelReply> set_log_level(
      const Caller& caller, const rpc::SetLogLevelRequest& request) override;
  // A reload has read the configuration anew: what it says counts from now on.
  void take_up(LogLevel configured);

 private:
  [[nodiscard]] bool may_change(const Caller& caller) const;

  World world_;
};

}  // namespace dynolog
