// Timers on the loop: a loop that does not come round gives no sign either.
#include "daemon/service_report.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dynolog {
namespace {

constexpr Nanoseconds kSoon = std::chrono::seconds(1);
// To look again after a thread that was late: it may only have been busy.
constexpr Nanoseconds kAgain = std::chrono::seconds(1);

}  // namespace

ServiceReport::ServiceReport(World world) : world_(std::move(world)) {}

void ServiceReport::ready() {
  if (!world_.manager.present()) return;
  told_ = world_.line();
  world_.manager.ready(told_);
  if (!sign_.armed()) give_sign();
}

void ServiceReport::reloading() {
  if (world_.manager.present()) world_.manager.reloading(world_.clock.monotonic());
}

void ServiceReport::stopping() {
  stopping_ = true;
  if (world_.manager.present()) world_.manager.stopping();
}

void ServiceReport::changed() {
  if (!world_.manager.present() || stopping_ || soon_.armed()) return;
  soon_ = world_.loop.after(kSoon, [this] { tell(); });
}

void ServiceReport::tell() {
  std::string line = world_.line();
  if (line == told_ || stopping_) return;
  told_ = std::move(line);
  world_.manager.show(told_);
}

void ServiceReport::give_sign() {
  const auto wanted = world_.manager.watchdog();
  if (!wanted) return;
  std::string hung;
  for (const Thread& thread : world_.threads) {
    // Every one is asked, each time.
    if (!thread.alive()) hung = thread.name;
  }
  if (hung.empty()) {
    world_.manager.alive();
    if (!hung_.empty()) world_.log.info("the {} thread has come round again", hung_);
  } else if (hung_ != hung) {
    world_.log.error(
        "the {} thread does not come round: the service manager gets no sign of life until it does",
        hung);
  }
  hung_ = hung;
  const Nanoseconds half = *wanted / 2;
  sign_ = world_.loop.after(hung.empty() ? half : std::min(half, kAgain), [this] { give_sign(); });
}

}  // namespace dynolog
