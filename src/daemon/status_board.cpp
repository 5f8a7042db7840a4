// The feature list.
#include "daemon/status_board.h"

#include <chrono>
#include <utility>

namespace dynolog {

StatusBoard::StatusBoard(World world)
    : world_(std::move(world)), started_(world_.clock.monotonic()) {}

void StatusBoard::set(const std::string& feature, const std::string& state,
                      const std::string& reason) {
  rpc::FeatureState& known = features_[feature];
  if (known.state == state && known.reason == reason) return;
  known = {feature, state, reason};
  const std::string line = feature + ": " + state + (reason.empty() ? "" : ": " + reason);
  world_.log.write(state == "degraded" ? LogLevel::warning : LogLevel::info, line);
  world_.changed();
}

void StatusBoard::forget(const std::string& feature) {
  if (features_.erase(feature) == 0) return;
  world_.log.info("{}: no longer", feature);
  world_.changed();
}

std::vector<std::string> StatusBoard::degraded() const {
  std::vector<std::string> names;
  for (const auto& [name, feature] : features_) {
    if (feature.state == "degraded") names.push_back(name);
  }
  return names;
}

rpc::StatusReply StatusBoard::status() {
  rpc::StatusReply reply = world_.fixed;
  reply.uptime_s = std::chrono::duration<double>(world_.clock.monotonic() - started_).count();
  for (const auto& [name, feature] : features_) reply.features.push_back(feature);
  world_.fill(reply);
  return reply;
}

}  // namespace dynolog
