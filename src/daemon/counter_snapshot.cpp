// Names of the counters, as `dyno status` and the metrics show them.
#include "daemon/counter_snapshot.h"

#include <array>
#include <utility>

namespace dynolog {
namespace {

constexpr std::array kKinetoCounters = {
    std::pair{std::string_view("kineto_polls"), &KinetoCounters::polls},
    std::pair{std::string_view("kineto_answered"), &KinetoCounters::answered},
    std::pair{std::string_view("kineto_contexts"), &KinetoCounters::contexts},
    std::pair{std::string_view("kineto_malformed"), &KinetoCounters::malformed},
    std::pair{std::string_view("kineto_no_credentials"), &KinetoCounters::no_credentials},
    std::pair{std::string_view("kineto_vanished"), &KinetoCounters::vanished},
    std::pair{std::string_view("kineto_with_descriptors"), &KinetoCounters::with_descriptors},
    std::pair{std::string_view("kineto_late"), &KinetoCounters::late},
    std::pair{std::string_view("kineto_doubled"), &KinetoCounters::doubled},
    std::pair{std::string_view("kineto_moved_too_often"), &KinetoCounters::moved_too_often},
    std::pair{std::string_view("kineto_behind"), &KinetoCounters::behind},
    std::pair{std::string_view("kineto_bad_sender"), &KinetoCounters::bad_sender},
    std::pair{std::string_view("kineto_reply_failed"), &KinetoCounters::reply_failed},
    std::pair{std::string_view("kineto_table_full"), &KinetoCounters::table_full},
    std::pair{std::string_view("kineto_no_descriptors"), &KinetoCounters::no_descriptors},
    std::pair{std::string_view("kineto_paused"), &KinetoCounters::paused},
    std::pair{std::string_view("kineto_receive_interrupted"), &KinetoCounters::receive_interrupted},
};

constexpr std::array kServerCounters = {
    std::pair{std::string_view("rpc_accepted"), &rpc::ServerCounters::accepted},
    std::pair{std::string_view("rpc_requests"), &rpc::ServerCounters::requests},
    std::pair{std::string_view("rpc_errors"), &rpc::ServerCounters::errors},
    std::pair{std::string_view("rpc_malformed"), &rpc::ServerCounters::malformed},
    std::pair{std::string_view("rpc_http"), &rpc::ServerCounters::http},
    std::pair{std::string_view("rpc_timed_out"), &rpc::ServerCounters::timed_out},
    std::pair{std::string_view("rpc_over_limit"), &rpc::ServerCounters::over_limit},
    std::pair{std::string_view("rpc_not_identified"), &rpc::ServerCounters::not_identified},
    std::pair{std::string_view("rpc_reply_unread"), &rpc::ServerCounters::reply_unread},
};

}  // namespace

void CounterSnapshot::publish(const KinetoCounters& kineto, const rpc::ServerCounters& server) {
  const std::lock_guard lock(mutex_);
  kineto_ = kineto;
  server_ = server;
}

void CounterSnapshot::visit(
    const std::function<void(std::string_view name, std::uint64_t value)>& visitor) const {
  const auto [kineto, server] = [this] {
    const std::lock_guard lock(mutex_);
    return std::pair(kineto_, server_);
  }();
  for (const auto& [name, member] : kKinetoCounters) visitor(name, kineto.*member);
  for (const auto& [name, member] : kServerCounters) visitor(name, server.*member);
}

}  // namespace dynolog
