// Rates between two points in time; the rest as it is now.
#include "daemon/own_cost.h"

#include <utility>

namespace dynolog {
namespace {

constexpr Nanoseconds kFresh = std::chrono::seconds(1);
// Shorter ones tell of the question rather than of the daemon.
constexpr Nanoseconds kLeastWindow = std::chrono::seconds(1);

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

OwnCost::OwnCost(World world)
    : world_(std::move(world)), descriptors_(world_.root), before_(point()), newest_(before_) {}

void OwnCost::note() {
  const Point now = point();
  const std::scoped_lock lock(mutex_);
  before_ = std::exchange(newest_, now);
}

OwnCost::Point OwnCost::since() const {
  const std::scoped_lock lock(mutex_);
  return before_;
}

void OwnCost::read_now(MonotonicTime now) {
  if (read_at_ && now - *read_at_ < kFresh) return;
  read_at_ = now;
  const auto memory = read_self_memory(world_.root, world_.page_size);
  read_.memory_bytes = memory ? memory->bytes : 0;
  read_.memory_kind = !memory ? "" : memory->proportional ? "pss" : "rss";
  const auto resident = read_self_resident(world_.root, world_.page_size);
  resident_bytes_ = resident.value_or(0);
  const auto open = descriptors_.count();
  read_.open_descriptors = open ? std::optional(*open) : std::nullopt;
  read_.descriptor_limit = read_descriptor_limit();
}

void OwnCost::fill(rpc::StatusReply& reply) {
  const Point now = point();
  read_now(now.time);
  reply.cpu_seconds = seconds(now.usage.user + now.usage.system);
  reply.resident_bytes = resident_bytes_;
  rpc::OwnCost& cost = reply.cost.emplace(read_);
  cost.workers = world_.workers();
  cost.worker_restarts = world_.worker_restarts();
  const Point then = since();
  const Nanoseconds window = now.time - then.time;
  if (window < kLeastWindow) return;
  cost.window_s = seconds(window);
  const Nanoseconds used = now.usage.user + now.usage.system - then.usage.user - then.usage.system;
  cost.cpu_share = seconds(used) / cost.window_s;
  cost.wakeups_per_s =
      static_cast<double>(now.usage.voluntary_switches - then.usage.voluntary_switches) /
      cost.window_s;
}

}  // namespace dynolog
