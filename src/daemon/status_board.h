// What `dyno status` shows: which features work, which are degraded and why, and the counters.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "rpc/services.h"

namespace dynolog {

// On the loop's thread only.
class StatusBoard final : public rpc::StatusService {
 public:
  struct World {
    const Clock& clock;
    Log& log;
    rpc::StatusReply fixed;  // version, host, pid, mode, run_dir
    // Filled in anew for each question: processes, sessions, collectors, cost, counters.
    std::function<void(rpc::StatusReply&)> fill;
    std::function<void()> changed;  // a feature is new, another, or gone
  };
  explicit StatusBoard(World world);

  // One log line when the state or its reason is new. `state`: "ok", "degraded", "off".
  void set(const std::string& feature, const std::string& state, const std::string& reason);

  // A feature that is no longer asked for.
  void forget(const std::string& feature);
  [[nodiscard]] std::vector<std::string> degraded() const;

  [[nodiscard]] rpc::StatusReply status() override;
  [[nodiscard]] std::string version() const override { return world_.fixed.version; }

 private:
  World world_;
  MonotonicTime started_;
  std::map<std::string, rpc::FeatureState> features_;
};

}  // namespace dynolog
