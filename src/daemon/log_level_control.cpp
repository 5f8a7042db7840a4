// The level itself is the log's; here are the rule, and the words.
#include "daemon/log_level_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "kernel/proc_pid.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxCgroupFile = 64U << 10U;

std::string name_of(LogLevel level) { return std::string(to_string(level)); }

}  // namespace

Tenant own_tenant(const SystemRoot& root, Uid uid) {
  const auto text = read_file(root.proc + "/self/cgroup", kMaxCgroupFile);
  return {uid, text ? container_of(parse_proc_pid_cgroup(*text)) : std::string()};
}

// Uid 0 is not enough even for root's daemon: in a container of the host's user namespace it is
// not root of the host.
bool LogLevelControl::may_change(const Caller& caller) const {
  if (caller.host_root) return true;
  return world_.own.uid != kRootUid && !caller.in_foreign_user_namespace &&
         may_reach(caller, world_.own);
}

rpc::LogLevelReply LogLevelControl::log_level() const {
  return {.level = name_of(world_.log.least()), .configured = name_of(world_.configured())};
}

Result<rpc::LogLevelReply> LogLevelControl::set_log_level(const Caller& caller,
                                                          const rpc::SetLogLevelRequest& request) {
  const auto level = log_level_from(request.level);
  if (!level) {
    return fail(ErrorKind::invalid, "the level must be debug, info, warning or error");
  }
  if (!may_change(caller)) {
    return fail(ErrorKind::denied,
                "only root of the host and the user whose daemon this is may change its log level");
  }
  const LogLevel before = world_.log.least();
  const LogLevel configured = world_.configured();
  // Said at the chattier of the two, or it would not be in the log.
  world_.log.set_least(std::min(before, *level));
  world_.show(*level == configured
                  ? std::string()
                  : fmt::format("{}, set at run time by uid {}; a reload sets it to {}",
                                request.level, caller.tenant.uid.value, name_of(configured)));
  world_.log.set_least(*level);
  world_.publish(
      {.time = world_.clock.wall(),
       .kind = "audit.log_level",
       .subject = "log",
       .text = fmt::format("log level {} instead of {}, by uid {} over {}", request.level,
                           name_of(before), caller.tenant.uid.value, caller.via),
       .fields = {{"level", request.level}}});
  return log_level();
}

void LogLevelControl::take_up(LogLevel configured) {
  world_.log.set_least(std::min(world_.log.least(), configured));
  world_.show("");
  world_.log.set_least(configured);
}

}  // namespace dynolog
