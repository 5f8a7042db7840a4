// Only news is shown, and each who waits is told once.
#include "daemon/kineto_endpoints.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace dynolog {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);

}  // namespace

void KinetoEndpoints::add(std::string directory, std::function<void(Status)> done) {
  // Also where it was up: what lies there may be another's by now, and the thread looks anew.
  waiters_[directory].push_back(std::move(done));
  patience_[directory] = world_.loop.after(kPatience, [this, directory] {
    const auto waiting = waiters_.extract(directory);
    if (waiting.empty()) return;
    for (const auto& waiter : waiting.mapped()) {
      waiter(fail(ErrorKind::timed_out, "no socket could be opened in " + directory + " in time"));
    }
  });
  world_.add(std::move(directory));
}

void KinetoEndpoints::on_state(const KinetoEndpointState& event) {
  if (event.removed) {
    problems_.erase(event.endpoint);
    world_.status.forget("kineto:" + event.endpoint);
    return;
  }
  const std::string problem = event.up ? "" : event.problem;
  const auto [known, first] = problems_.try_emplace(event.endpoint);
  // Users can have it looked at as often as they like: only news is shown.
  const bool news = first || known->second != problem;
  known->second = problem;
  if (news) show(event);
  const auto waiting = waiters_.extract(event.endpoint);
  if (!waiting.empty()) answer(problem, waiting.mapped());
}

// The status is for everybody, and whose directories there are is not: those are one feature.
void KinetoEndpoints::show(const KinetoEndpointState& event) {
  if (!event.endpoint.starts_with(world_.user_directories)) {
    world_.status.set("kineto:" + event.endpoint, event.up ? "ok" : "degraded", event.problem);
    return;
  }
  if (!event.up) world_.log.warning("kineto:{}: {}", event.endpoint, event.problem);
  std::size_t all = 0;
  std::size_t unusable = 0;
  for (const auto& [endpoint, problem] : problems_) {
    if (!endpoint.starts_with(world_.user_directories)) continue;
    ++all;
    if (!problem.empty()) ++unusable;
  }
  world_.status.set(
      "kineto:user directories", unusable == 0 ? "ok" : "degraded",
      unusable == 0
          ? ""
          : fmt::format("{} of {} cannot be used; the daemon's log says why", unusable, all));
}

void KinetoEndpoints::answer(const std::string& problem, const Waiters& waiters) {
  for (const auto& done : waiters) {
    done(problem.empty() ? Status{} : Status(fail(ErrorKind::unavailable, problem)));
  }
}

}  // namespace dynolog
