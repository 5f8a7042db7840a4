// The feature list, and the daemon's own cost from the kernel.
#include "daemon/status_board.h"

#include <sys/resource.h>

#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t resident_bytes(const SystemRoot& root) {
  const auto text = read_file(root.proc + "/self/status", 64U << 10U);
  if (!text) return 0;
  for (std::string_view line : split(*text, '\n')) {
    if (!line.starts_with("VmRSS:")) continue;
    line.remove_prefix(6);
    line = trim(line);
    return parse_number<std::uint64_t>(line.substr(0, line.find(' '))).value_or(0) * 1024;
  }
  return 0;
}

}  // namespace

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
  reply.cpu_seconds = cpu_seconds();
  reply.resident_bytes = resident_bytes(world_.root);
  world_.fill(reply);
  return reply;
}

}  // namespace dynolog
