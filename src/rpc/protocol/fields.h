// Each message's fields, listed once for the encoder and the decoder: `visit(name, member)`.
#pragma once

#include <concepts>
#include <type_traits>

#include "rpc/protocol/messages.h"
#include "traces/trace_summary_fields.h"

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
  visit("failing", s.failing);
  visit("unavailable", s.unavailable);
  visit("age_s", s.age_s);
  visit("total_duration_s", s.total_duration_s);
  visit("period_s", s.period_s);
  visit("absent", s.absent);
  visit("queue_length", s.queue_length);
  visit("dropped", s.dropped);
  visit("delivery_failures", s.delivery_failures);
}

template <class V>
void visit_fields(V& visit, Like<OwnCost> auto& s) {
  visit("memory_bytes", s.memory_bytes);
  visit("memory_kind", s.memory_kind);
  visit("window_s", s.window_s);
  visit("cpu_share", s.cpu_share);
  visit("wakeups_per_s", s.wakeups_per_s);
  visit("open_descriptors", s.open_descriptors);
  visit("descriptor_limit", s.descriptor_limit);
  visit("workers", s.workers);
  visit("worker_restarts", s.worker_restarts);
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
  visit("cost", s.cost);
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
  visit("role", s.role);
  visit("holds_gpu", s.holds_gpu);
  visit("gpus", s.gpus);
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
  visit("rank_worlds", s.rank_worlds);
  visit("user", s.user);
  visit("command", s.command);
  visit("gpus", s.gpus);
  visit("container", s.container);
  visit("all", s.all);
  visit("process_limit", s.process_limit);
}

template <class V>
void visit_fields(V& visit, Like<TraceSpec> auto& s) {
  visit("log_file", s.log_file);
  visit("bring", s.bring);
  visit("caller_directory", s.caller_directory);
  visit("make_directories", s.make_directories);
  visit("gzip", s.gzip);
  visit("duration_ms", s.duration_ms);
  visit("iterations", s.iterations);
  visit("iteration_roundup", s.iteration_roundup);
  visit("start_time_ms", s.start_time_ms);
  visit("start_in_s", s.start_in_s);
  visit("warmup_s", s.warmup_s);
  visit("activity_types", s.activity_types);
  visit("buffer_mb", s.buffer_mb);
  visit("pm_sampling_metrics", s.pm_sampling_metrics);
  visit("pm_sampling_device", s.pm_sampling_device);
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
  visit("local_rank", s.local_rank);
  visit("world_size", s.world_size);
  visit("user", s.user);
  visit("command", s.command);
  visit("job", s.job);
  visit("torch_version", s.torch_version);
  visit("gpus", s.gpus);
  visit("brought", s.brought);
  visit("file", s.file);
  visit("expected_wait_s", s.expected_wait_s);
  visit("poll_s", s.poll_s);
  visit("warmup_s", s.warmup_s);
  visit("window_s", s.window_s);
  visit("notes", s.notes);
  visit("problem", s.problem);
}

template <class V>
void visit_fields(V& visit, Like<SkippedProcess> auto& s) {
  visit("pid", s.pid);
  visit("rank", s.rank);
  visit("role", s.role);
  visit("command", s.command);
  visit("reason", s.reason);
}

template <class V>
void visit_fields(V& visit, Like<PrepareReply> auto& s) {
  visit("session", s.session);
  visit("host", s.host);
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
  visit("attended", s.attended);
}

template <class V>
void visit_fields(V& visit, Like<CommitReply> auto& s) {
  visit("session", s.session);
  visit("staged", s.staged);
}

template <class V>
void visit_fields(V& visit, Like<TraceUpdate> auto& s) {
  visit("pid", s.pid);
  visit("namespace_pid", s.namespace_pid);
  visit("rank", s.rank);
  visit("local_rank", s.local_rank);
  visit("job", s.job);
  visit("state", s.state);
  visit("sentence", s.sentence);
  visit("file", s.file);
  visit("file_id", s.file_id);
  visit("location", s.location);
  visit("trace_id", s.trace_id);
  visit("ended", s.ended);
  visit("fetchable", s.fetchable);
  visit("checked", s.checked);
  visit("whole", s.whole);
  visit("ours", s.ours);
  visit("problem", s.problem);
  visit("notes", s.notes);
  visit("summary", s.summary);
  visit("may_still_write", s.may_still_write);
}

template <class V>
void visit_fields(V& visit, Like<FollowFrame> auto& s) {
  visit("session", s.session);
  visit("updates", s.updates);
  visit("done", s.done);
  visit("host", s.host);
}

template <class V>
void visit_fields(V& visit, Like<SessionRequest> auto& s) {
  visit("session", s.session);
}

template <class V>
void visit_fields(V& visit, Like<FetchRequest> auto& s) {
  visit("session", s.session);
  visit("pid", s.pid);
  visit("offset", s.offset);
}

template <class V>
void visit_fields(V& visit, Like<FetchReply> auto& s) {
  visit("offset", s.offset);
  visit("plain_bytes", s.plain_bytes);
  visit("total_bytes", s.total_bytes);
  visit("crc32", s.crc32);
  visit("stamp", s.stamp);
  visit("data", s.data);
  visit("last", s.last);
  visit("side_car", s.side_car);
}

template <class V>
void visit_fields(V& visit, Like<ReleaseRequest> auto& s) {
  visit("session", s.session);
  visit("pid", s.pid);
  visit("file", s.file);
}

template <class V>
void visit_fields(V& visit, Like<ReleaseReply> auto& s) {
  visit("removed", s.removed);
}

template <class V>
void visit_fields(V& visit, Like<SessionRow> auto& s) {
  visit("session", s.session);
  visit("user", s.user);
  visit("created_ms", s.created_ms);
  visit("ended", s.ended);
  visit("traces", s.traces);
  visit("commands", s.commands);
  visit("kept_bytes", s.kept_bytes);
  visit("kept_until_ms", s.kept_until_ms);
}

template <class V>
void visit_fields(V& visit, Like<ListTracesReply> auto& s) {
  visit("sessions", s.sessions);
  visit("kept_bytes", s.kept_bytes);
  visit("quota_bytes", s.quota_bytes);
  visit("keep_s", s.keep_s);
  visit("host", s.host);
}

template <class V>
void visit_fields(V& visit, Like<DeleteTraceReply> auto& s) {
  visit("freed_bytes", s.freed_bytes);
}

template <class V>
void visit_fields(V& visit, Like<DiagnoseRequest> auto& s) {
  visit("pids", s.pids);
  visit("job", s.job);
  visit("iterations", s.iterations);
  visit("among", s.among);
}

template <class V>
void visit_fields(V& visit, Like<Finding> auto& s) {
  visit("check", s.check);
  visit("level", s.level);
  visit("pid", s.pid);
  visit("rank", s.rank);
  visit("command", s.command);
  visit("what", s.what);
  visit("why", s.why);
  visit("fix", s.fix);
}

template <class V>
void visit_fields(V& visit, Like<DiagnoseReply> auto& s) {
  visit("findings", s.findings);
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
void visit_fields(V& visit, Like<SetLogLevelRequest> auto& s) {
  visit("level", s.level);
}

template <class V>
void visit_fields(V& visit, Like<LogLevelReply> auto& s) {
  visit("level", s.level);
  visit("configured", s.configured);
}

template <class V>
void visit_fields(V& visit, Like<ErrorReply> auto& s) {
  visit("code", s.code);
  visit("message", s.message);
}

}  // namespace dynolog::rpc
