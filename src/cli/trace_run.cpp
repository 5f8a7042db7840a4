// Prepare and commit. The following is in session_follower.cpp.
#include "cli/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/time_text.h"
#include "cli/hint.h"
#include "cli/rank_order.h"
#include "cli/render.h"
#include "cli/trace_directory.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

ExitCode usage(const World& world, const std::string& sentence) {
  world.err << "dyno: " << sentence << "\n";
  return ExitCode::usage;
}

// People read stdout; with --json it belongs to the data.
std::ostream& talk(const World& world, const GlobalOptions& global) {
  return global.json ? world.err : world.out;
}

class TraceRun {
 public:
  TraceRun(const World& world, const GlobalOptions& global, const GputraceOptions& options)
      : world_(world), global_(global), options_(options), client_(world, global) {}

  ExitCode start() {
    auto request = prepare_request(options_, world_.working_directory);
    if (!request) return usage(world_, request.error().message);
    const std::int64_t start = request->trace.start_time_ms;
    if (const WallTime now = world_.clock.wall();
        start > 0 && WallTime(Milliseconds(start)) < now) {
      return usage(world_,
                   fmt::format("--profile-start-time: {} ms since the epoch is in the past: "
                               "{}, and now it is {}",
                               start, to_rfc3339(WallTime(Milliseconds(start))), to_rfc3339(now)));
    }
    say_what_is_void();
    take_interrupts();
    own_directory_ = request->trace.log_file.empty();
    if (own_directory_) {
      if (const auto end = choose_directory(*request)) return *end;
    }
    auto plan = client_.ask<rpc::PrepareReply>(rpc::encode(*request), rpc::decode_prepare_reply);
    if (!plan) return not_prepared(plan.error(), *request);
    plan_ = std::move(*plan);
    sort_by_rank(plan_.planned);
    outcome_.planned = plan_.planned;
    outcome_.unmatched = plan_.unmatched;
    if (plan_.planned.empty()) return nothing_matched();
    if (const auto problem = directory_problem()) return *problem;
    talk(world_, global_) << render_plan(plan_, world_.out_columns);
    if (plan_.session.empty()) return finish();
    return commit();
  }

  ExitCode attach() {
    plan_.session = options_.follow;
    return follow(world_.clock.monotonic());
  }

  ExitCode cancel() {
    const auto reply = client_.ask<rpc::CancelReply>(
        rpc::encode_request("cancelTrace", rpc::SessionRequest{options_.cancel}),
        rpc::decode_cancel_reply);
    if (!reply) return report(world_, reply.error());
    world_.out << (global_.json ? pretty_json(rpc::encode(*reply)) : cancel_text(*reply) + "\n");
    const bool all = reply->withdrawn > 0 && reply->beyond_recall.empty();
    return all ? ExitCode::ok : ExitCode::failed;
  }

 private:
  void say_what_is_void() {
    if (options_.iterations <= 0 || !options_.duration_given) return;
    world_.err << "dyno: note: --iterations counts steps; --duration-ms is then only for a process "
                  "that makes none\n";
  }

  // From here on Ctrl-C is an answer that does not come, so that what was made is taken away again.
  void take_interrupts() {
    if (interrupt_fd_ < 0) interrupt_fd_ = world_.take_interrupts();
    client_.interrupted_by(interrupt_fd_);
  }

  // The daemon plans for a directory that exists, so it is made before the plan, but not when there
  // is no process at all. Where none can be made the plan still tells whether one was needed.
  std::optional<ExitCode> choose_directory(rpc::PrepareRequest& request) {
    if (!client_.endpoint().is_local()) {
      return usage(world_, "--log-file is required for another host: a path there");
    }
    auto list = client_.ask<rpc::ListProcessesReply>(rpc::encode_request("listProcesses"),
                                                     rpc::decode_list_processes_reply);
    if (!list) return not_prepared(list.error(), request);
    processes_ = std::move(list->processes);
    request.trace.log_file = fmt::format("{}/trace.json", world_.working_directory);
    if (processes_.empty()) return std::nullopt;
    auto made = TraceDirectory::make(world_.working_directory, world_.clock.wall());
    if (!made) {
      not_made_ = made.error().message;
      return std::nullopt;
    }
    directory_ = std::move(*made);
    request.trace.log_file = directory_.path() + "/trace.json";
    return std::nullopt;
  }

  ExitCode not_prepared(const CallFailure& failure, rpc::PrepareRequest& request) {
    if (client_.may_be_existing_daemon(failure)) {
      if (own_directory_) request.trace.log_file.clear();
      return run_existing_trace(client_, request);
    }
    const ExitCode code = report(world_, failure);
    if (failure.kind == CallFailureKind::from_daemon &&
        failure.error.kind == ErrorKind::ambiguous) {
      const auto list = client_.ask<rpc::ListProcessesReply>(rpc::encode_request("listProcesses"),
                                                             rpc::decode_list_processes_reply);
      if (list) world_.err << "\n" << render_processes(*list, false, 0);
    }
    return code;
  }

  ExitCode nothing_matched() {
    talk(world_, global_) << render_plan(plan_, world_.out_columns);
    world_.out.flush();
    world_.err << fmt::format(
        "dyno: no process matched; nothing was traced. `{}` lists those that can be. A job "
        "calls in once it has imported torch.\n",
        same_daemon(global_, "ps"));
    const ExitCode code = exit_code(outcome_);
    if (global_.json) world_.out << trace_json(plan_, outcome_, code);
    return code;
  }

  // Without --log-file the traces lie in a directory that only the caller may write to.
  std::optional<ExitCode> directory_problem() {
    if (!own_directory_) return std::nullopt;
    for (const rpc::PlannedTrace& planned : plan_.planned) {
      const auto row = std::ranges::find(processes_, planned.pid, &rpc::ProcessRow::pid);
      if (row == processes_.end()) {
        return usage(world_,
                     fmt::format("process {} has only just called in: start again", planned.pid));
      }
      if (row->uid == world_.uid) continue;
      return usage(world_, fmt::format("--log-file is required for another user's processes (pid "
                                       "{} is {}'s): a path that this user may write to",
                                       planned.pid, planned.user));
    }
    if (not_made_.empty()) return std::nullopt;
    return usage(world_, not_made_ + "; name a place with --log-file PATH");
  }

  ExitCode commit() {
    say_if_too_short();
    const MonotonicTime committed = world_.clock.monotonic();
    const auto reply = client_.ask<rpc::CommitReply>(
        rpc::encode(rpc::CommitRequest{plan_.session, options_.wait ? options_.deadline_s : 0}),
        rpc::decode_commit_reply);
    if (!reply) return not_committed(reply.error());
    if (!options_.wait) return leave_running();
    world_.out.flush();
    world_.err << fmt::format("session {}: Ctrl-C cancels; `{}` takes it up again\n", plan_.session,
                              same_daemon(global_, "gputrace --follow " + plan_.session));
    return follow(committed);
  }

  void say_if_too_short() {
    double wait = 0;
    for (const rpc::PlannedTrace& planned : plan_.planned) {
      if (planned.problem.empty()) wait = std::max(wait, planned.expected_wait_s);
    }
    if (options_.deadline_s <= 0 || options_.deadline_s >= wait) return;
    world_.out.flush();
    world_.err << fmt::format(
        "dyno: note: --deadline {:g} is shorter than the {} that this takes\n", options_.deadline_s,
        duration_text(wait));
  }

  // Without an answer nobody knows whether the processes were asked: then their directory stays.
  ExitCode not_committed(const CallFailure& failure) {
    const bool certain =
        failure.kind == CallFailureKind::from_daemon || failure.kind == CallFailureKind::no_daemon;
    const ExitCode code = report(world_, failure);
    if (certain) return code;
    if (failure.kind == CallFailureKind::interrupted) {
      outcome_.interrupted = true;
      Client second(world_, global_);
      const auto reply = cancel_session(second, plan_.session, outcome_);
      if (reply) {
        world_.err << "dyno: " << cancel_text(*reply) << "\n";
        if (!reply->beyond_recall.empty()) directory_.keep();
        return finish();
      }
    }
    directory_.keep();
    world_.err << fmt::format(
        "dyno: session {} may have begun all the same: `{}` shows it, `{}` withdraws it\n",
        plan_.session, same_daemon(global_, "gputrace --follow " + plan_.session),
        same_daemon(global_, "gputrace --cancel " + plan_.session));
    return ExitCode::failed;
  }

  ExitCode leave_running() {
    directory_.keep();
    bool problem = std::ranges::any_of(
        plan_.planned, [](const auto& planned) { return !planned.problem.empty(); });
    problem |= !outcome_.unmatched.empty();
    const ExitCode code = problem ? ExitCode::failed : ExitCode::ok;
    if (global_.json) {
      world_.out << trace_json(plan_, outcome_, code);
    } else {
      world_.out << fmt::format("session {}: asked for, not waited for. Its end: {}\n",
                                plan_.session,
                                same_daemon(global_, "gputrace --follow " + plan_.session));
    }
    return code;
  }

  ExitCode follow(MonotonicTime committed) {
    take_interrupts();
    SessionFollower follower(client_, plan_.session, committed, options_.deadline_s, interrupt_fd_,
                             options_.follow.empty() ? OnInterrupt::cancel : OnInterrupt::leave);
    if (const auto followed = follower.follow(outcome_); !followed) {
      directory_.keep();
      return report(world_, followed.error());
    }
    if (outcome_.updates.empty() || std::ranges::any_of(outcome_.updates, may_still_write)) {
      directory_.keep();
    }
    return finish();
  }

  ExitCode finish() {
    const ExitCode code = exit_code(outcome_);
    if (global_.json) {
      world_.out << trace_json(plan_, outcome_, code);
    } else {
      world_.out << render_summary(outcome_);
    }
    return code;
  }

  const World& world_;
  const GlobalOptions& global_;
  const GputraceOptions& options_;
  Client client_;
  bool own_directory_ = false;
  TraceDirectory directory_;                // removed again when nothing was written into it
  std::string not_made_;                    // why there is none
  std::vector<rpc::ProcessRow> processes_;  // as they were before the plan
  rpc::PrepareReply plan_;
  TraceOutcome outcome_;
  int interrupt_fd_ = -1;
};

}  // namespace

ExitCode run_trace(const World& world, const GlobalOptions& global,
                   const GputraceOptions& options) {
  TraceRun run(world, global, options);
  if (!options.cancel.empty()) return run.cancel();
  if (!options.follow.empty()) return run.attach();
  return run.start();
}

ExitCode run_existing_trace(Client& client, const rpc::PrepareRequest& request) {
  const World& world = client.world();
  const auto legacy = legacy_request(request);
  if (!legacy) return usage(world, legacy.error().message);
  world.err << "dyno: " << client.endpoint().text()
            << " is an existing dynolog daemon: it cannot say what comes of the request\n";
  client.disconnect();
  const auto reply = client.ask<rpc::LegacyTraceReply>(rpc::encode_legacy(*legacy),
                                                       rpc::decode_legacy_trace_reply);
  if (!reply) return report(world, reply.error());
  if (client.options().json) {
    world.out << pretty_json(fmt::format(R"({{"schema":1,"existing_daemon":true,"reply":{}}})",
                                         rpc::encode_legacy(*reply)));
  } else if (reply->processes_matched.empty()) {
    world.out << "No processes were matched, please check --job-id or --pids flags\n";
  } else {
    world.out << fmt::format("Matched {} processes\nTrace output files will be written to:\n",
                             reply->processes_matched.size());
    for (const std::int64_t pid : reply->processes_matched) {
      world.out << "    " << legacy_file_name(request.trace.log_file, pid) << "\n";
    }
  }
  return reply->processes_matched.empty() ? ExitCode::nothing_matched : ExitCode::ok;
}

}  // namespace dynolog
