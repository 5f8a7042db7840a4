// Each message's fields, listed once for the encoder and the decoder: `visit(name, member)`.
#pragma once

#include <concepts>
#include <type_traits>

#include "rpc/protocol/messages.h"

namespace dynolog::rpc {

template <class S, class T>
concept Like = std::same_as<std::remove_const_t<S>, T>;

template <class V>
void visit_fields(V& visit, Like<FeatureState> auto& s) {
  visit("name", s.name);
  visit("state", s.state);
  visit("reason", s.reason);
}

template <class V>
void visit_fields(V& visit, Like<CollectorState> auto& s) {
  visit("name", s.name);
  visit("kind", s.kind);
  visit("last_duration_s", s.last_duration_s);
  visit("successes", s.successes);
  visit("failures", s.failures);
  visit("last_error", s.last_error);
}

template <class V>
void visit_fields(V& visit, Like<StatusReply> auto& s) {
  visit("version", s.version);
  visit("host", s.host);
  visit("pid", s.pid);
  visit("mode", s.mode);
  visit("run_dir", s.run_dir);
  visit("uptime_s", s.uptime_s);
  visit("features", s.features);
  visit("processes", s.processes);
  visit("sessions", s.sessions);
  visit("collectors", s.collectors);
  visit("cpu_seconds", s.cpu_seconds);
  visit("resident_bytes", s.resident_bytes);
  visit("counters", s.counters);
}

template <class V>
void visit_fields(V& visit, Like<ProcessRow> auto& s) {
  visit("pid", s.pid);
  visit("namespace_pid", s.namespace_pid);
  visit("uid", s.uid);
  visit("user", s.user);
  visit("command", s.command);
  visit("container", s.container);
  visit("started_ms", s.started_ms);
  visit("scheduler", s.scheduler);
  visit("job", s.job);
  visit("step", s.step);
  visit("rank", s.rank);
  visit("local_rank", s.local_rank);
  visit("world_size", s.world_size);
  visit("rank_source", s.rank_source);
  visit("launcher", s.launcher);
  visit("holds_gpu", s.holds_gpu);
  visit("torch_version", s.torch_version);
  visit("state", s.state);
  visit("last_poll_age_s", s.last_poll_age_s);
  visit("poll_period_s", s.poll_period_s);
  visit("endpoint", s.endpoint);
  visit("at_risk", s.at_risk);
  visit("missing", s.missing);
}

template <class V>
void visit_fields(V& visit, Like<ListProcessesReply> auto& s) {
  visit("processes", s.processes);
}

template <class V>
void visit_fields(V& visit, Like<SelectionSpec> auto& s) {
  visit("job", s.job);
  visit("pids", s.pids);
  visit("ranks", s.ranks);
  visit("user", s.user);
  visit("command", s.command);
  visit("all", s.all);
  visit("process_limit", s.process_limit);
}

template <class V>
void visit_fields(V& visit, Like<TraceSpec> auto& s) {
  visit("log_file", s.log_file);
  visit("duration_ms", s.duration_ms);
  visit("iterations", s.iterations);
  visit("iteration_roundup", s.iteration_roundup);
  visit("start_time_ms", s.start_time_ms);
  visit("warmup_s", s.warmup_s);
  visit("record_shapes", s.record_shapes);
  visit("profile_memory", s.profile_memory);
  visit("with_stacks", s.with_stacks);
  visit("with_flops", s.with_flops);
  visit("with_modules", s.with_modules);
  visit("set", s.set);
}

template <class V>
void visit_fields(V& visit, Like<PrepareRequest> auto& s) {
  visit("selection", s.selection);
  visit("trace", s.trace);
}

template <class V>
void visit_fields(V& visit, Like<PlannedTrace> auto& s) {
  visit("pid", s.pid);
  visit("namespace_pid", s.namespace_pid);
  visit("rank", s.rank);
  visit("world_size", s.world_size);
  visit("user", s.user);
  visit("command", s.command);
  visit("job", s.job);
  visit("file", s.file);
  visit("expected_wait_s", s.expected_wait_s);
  visit("notes", s.notes);
  visit("problem", s.problem);
}

template <class V>
void visit_fields(V& visit, Like<SkippedProcess> auto& s) {
  visit("pid", s.pid);
  visit("command", s.command);
  visit("reason", s.reason);
}

template <class V>
void visit_fields(V& visit, Like<PrepareReply> auto& s) {
  visit("session", s.session);
  visit("planned", s.planned);
  visit("skipped", s.skipped);
  visit("unmatched", s.unmatched);
  visit("coverage", s.coverage);
  visit("expires_in_s", s.expires_in_s);
}

template <class V>
void visit_fields(V& visit, Like<CommitRequest> auto& s) {
  visit("session", s.session);
  visit("deadline_s", s.deadline_s);
}

template <class V>
void visit_fields(V& visit, Like<CommitReply> auto& s) {
  visit("session", s.session);
  visit("staged", s.staged);
}

template <class V>
void visit_fields(V& visit, Like<TraceUpdate> auto& s) {
  visit("pid", s.pid);
  visit("rank", s.rank);
  visit("state", s.state);
  visit("sentence", s.sentence);
  visit("file", s.file);
  visit("events", s.events);
  visit("bytes", s.bytes);
  visit("trace_id", s.trace_id);
  visit("ended", s.ended);
  visit("checked", s.checked);
  visit("whole", s.whole);
  visit("ours", s.ours);
  visit("problem", s.problem);
  visit("may_still_write", s.may_still_write);
}

template <class V>
void visit_fields(V& visit, Like<FollowFrame> auto& s) {
  visit("session", s.session);
  visit("updates", s.updates);
  visit("done", s.done);
}

template <class V>
void visit_fields(V& visit, Like<SessionRequest> auto& s) {
  visit("session", s.session);
}

template <class V>
void visit_fields(V& visit, Like<CancelReply> auto& s) {
  visit("withdrawn", s.withdrawn);
  visit("beyond_recall", s.beyond_recall);
}

template <class V>
void visit_fields(V& visit, Like<SocketDirectoryReply> auto& s) {
  visit("directory", s.directory);
}

template <class V>
void visit_fields(V& visit, Like<ErrorReply> auto& s) {
  visit("code", s.code);
  visit("message", s.message);
}

}  // namespace dynolog::rpc
