// Names of the counters, as `dyno status` and the metrics show them.
#include "daemon/counter_snapshot.h"

namespace dynolog {

void CounterSnapshot::publish(const KinetoCounters& kineto, const rpc::ServerCounters& server) {
  const std::lock_guard lock(mutex_);
  kineto_ = kineto;
  server_ = server;
}

CounterSnapshot::Values CounterSnapshot::read() const {
  const auto [kineto, server] = [this] {
    const std::lock_guard lock(mutex_);
    return std::pair(kineto_, server_);
  }();
  return {
      {"kineto_polls", kineto.polls},
      {"kineto_answered", kineto.answered},
      {"kineto_contexts", kineto.contexts},
      {"kineto_malformed", kineto.malformed},
      {"kineto_no_credentials", kineto.no_credentials},
      {"kineto_vanished", kineto.vanished},
      {"kineto_with_descriptors", kineto.with_descriptors},
      {"kineto_late", kineto.late},
      {"kineto_doubled", kineto.doubled},
      {"kineto_behind", kineto.behind},
      {"kineto_bad_sender", kineto.bad_sender},
      {"kineto_reply_failed", kineto.reply_failed},
      {"kineto_clients", kineto.clients},
      {"kineto_table_full", kineto.table_full},
      {"kineto_no_descriptors", kineto.no_descriptors},
      {"kineto_receive_interrupted", kineto.receive_interrupted},
      {"rpc_connections", server.connections},
      {"rpc_accepted", server.accepted},
      {"rpc_requests", server.requests},
      {"rpc_errors", server.errors},
      {"rpc_malformed", server.malformed},
      {"rpc_http", server.http},
      {"rpc_timed_out", server.timed_out},
      {"rpc_over_limit", server.over_limit},
      {"rpc_not_identified", server.not_identified},
  };
}

}  // namespace dynolog
