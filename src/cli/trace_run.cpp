// Prepare and commit. The following is in session_follower.cpp.
#include "cli/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

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
    if (request->trace.log_file.empty()) {
      if (const auto problem = make_directory(*request)) return *problem;
    }
    auto plan = client_.ask<rpc::PrepareReply>(rpc::encode(*request), rpc::decode_prepare_reply);
    if (!plan) return not_prepared(plan.error(), *request);
    plan_ = std::move(*plan);
    outcome_.planned = plan_.planned;
    talk(world_, global_) << render_plan(plan_);
    if (plan_.planned.empty()) return nothing_matched();
    if (const auto problem = foreign_processes()) return *problem;
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
    return ExitCode::ok;
  }

 private:
  std::optional<ExitCode> make_directory(rpc::PrepareRequest& request) {
    if (!client_.endpoint().is_local()) {
      return usage(world_, "--log-file is required for another host: a path there");
    }
    auto made = TraceDirectory::make(world_.working_directory, world_.clock.wall());
    if (!made) {
      return usage(world_, made.error().message + "; name a place with --log-file PATH");
    }
    directory_ = std::move(*made);
    request.trace.log_file = directory_.path() + "/trace.json";
    return std::nullopt;
  }

  ExitCode not_prepared(const CallFailure& failure, rpc::PrepareRequest& request) {
    if (client_.may_be_existing_daemon(failure)) {
      if (!directory_.path().empty()) request.trace.log_file.clear();
      return run_existing_trace(client_, request);
    }
    const ExitCode code = report(world_, failure);
    if (failure.kind == CallFailureKind::from_daemon &&
        failure.error.kind == ErrorKind::ambiguous) {
      const auto list = client_.ask<rpc::ListProcessesReply>(rpc::encode_request("listProcesses"),
                                                             rpc::decode_list_processes_reply);
      if (list) world_.err << "\n" << render_processes(*list, false);
    }
    return code;
  }

  ExitCode nothing_matched() {
    world_.out.flush();
    world_.err << "dyno: no process matched; nothing was traced. `dyno ps` lists those that can "
                  "be.\n";
    const ExitCode code = exit_code(outcome_);
    if (global_.json) world_.out << trace_json(plan_, outcome_, code);
    return code;
  }

  // Without --log-file the traces lie in a directory that only the caller may write to.
  std::optional<ExitCode> foreign_processes() {
    if (directory_.path().empty()) return std::nullopt;
    const auto list = client_.ask<rpc::ListProcessesReply>(rpc::encode_request("listProcesses"),
                                                           rpc::decode_list_processes_reply);
    if (!list) return report(world_, list.error());
    for (const rpc::PlannedTrace& planned : plan_.planned) {
      const auto row = std::ranges::find(list->processes, planned.pid, &rpc::ProcessRow::pid);
      if (row != list->processes.end() && row->uid == world_.uid) continue;
      if (row == list->processes.end()) {
        return usage(world_, fmt::format("process {} is gone; start again", planned.pid));
      }
      return usage(world_, fmt::format("--log-file is required for another user's processes (pid "
                                       "{} is {}'s): a path that this user may write to",
                                       planned.pid, planned.user));
    }
    return std::nullopt;
  }

  ExitCode commit() {
    interrupt_fd_ = world_.take_interrupts();
    client_.interrupted_by(interrupt_fd_);
    const MonotonicTime committed = world_.clock.monotonic();
    const auto reply = client_.ask<rpc::CommitReply>(
        rpc::encode(rpc::CommitRequest{plan_.session, options_.wait ? options_.deadline_s : 0}),
        rpc::decode_commit_reply);
    if (!reply) return not_committed(reply.error());
    directory_.keep();
    if (!options_.wait) return leave_running();
    world_.out.flush();
    world_.err << fmt::format(
        "session {}: Ctrl-C cancels; `dyno gputrace --follow {}` takes it up again\n",
        plan_.session, plan_.session);
    return follow(committed);
  }

  // Without an answer nobody knows whether the processes were asked: then their directory stays.
  ExitCode not_committed(const CallFailure& failure) {
    const bool certain =
        failure.kind == CallFailureKind::from_daemon || failure.kind == CallFailureKind::no_daemon;
    const ExitCode code = report(world_, failure);
    if (certain) return code;
    directory_.keep();
    if (failure.kind == CallFailureKind::interrupted) {
      Client second(world_, global_);
      const auto reply = second.ask<rpc::CancelReply>(
          rpc::encode_request("cancelTrace", rpc::SessionRequest{plan_.session}),
          rpc::decode_cancel_reply);
      if (reply) {
        world_.err << "dyno: " << cancel_text(*reply) << "\n";
        return ExitCode::failed;
      }
    }
    world_.err << fmt::format(
        "dyno: session {0} may have begun all the same: `dyno gputrace --follow {0}` shows it, "
        "`dyno gputrace --cancel {0}` withdraws it\n",
        plan_.session);
    return ExitCode::failed;
  }

  ExitCode leave_running() {
    const bool problem = std::ranges::any_of(
        plan_.planned, [](const auto& planned) { return !planned.problem.empty(); });
    const ExitCode code = problem ? ExitCode::failed : ExitCode::ok;
    if (global_.json) {
      world_.out << trace_json(plan_, outcome_, code);
    } else {
      world_.out << fmt::format(
          "session {}: asked for, not waited for. Its end: dyno gputrace "
          "--follow {}\n",
          plan_.session, plan_.session);
    }
    return code;
  }

  ExitCode follow(MonotonicTime committed) {
    if (interrupt_fd_ < 0) interrupt_fd_ = world_.take_interrupts();
    SessionFollower follower(client_, plan_.session, committed, options_.deadline_s, interrupt_fd_);
    if (const auto followed = follower.follow(outcome_); !followed) {
      return report(world_, followed.error());
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
  TraceDirectory directory_;
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
