// Prepare, commit and finish. The following is in session_follower.cpp.
#include "cli/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "base/path_template.h"
#include "base/time_text.h"
#include "cli/daemon_owner.h"
#include "cli/diagnosis.h"
#include "cli/hint.h"
#include "cli/local_check.h"
#include "cli/rank_order.h"
#include "cli/render.h"
#include "cli/render_json.h"
#include "cli/render_summary.h"
#include "cli/render_trace.h"
#include "cli/session_follower.h"
#include "cli/trace_places.h"
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
      : world_(world), global_(global), options_(options), client_(world, global) {
    outcome_.check_wanted = options.check;
    outcome_.iterations = std::max<std::int64_t>(options.iterations, 0);
  }

  ExitCode start() {
    auto request = prepare_request(options_);
    if (!request) return usage(world_, request.error().message);
    if (const std::string problem = start_time_problem(); !problem.empty()) {
      return usage(world_, problem);
    }
    say_what_is_void();
    take_interrupts();
    if (const auto end = choose_places()) return *end;
    places_->ask_for(request->trace);
    auto plan = client_.ask<rpc::PrepareReply>(rpc::encode(*request), rpc::decode_prepare_reply);
    if (!plan) return not_prepared(plan.error(), *request);
    if (plan->planned.empty() || !plan->unmatched.empty()) say_whom_it_serves(client_);
    plan_ = std::move(*plan);
    sort_by_rank(plan_.planned);
    outcome_.host = plan_.host;
    outcome_.planned = plan_.planned;
    outcome_.unmatched = plan_.unmatched;
    selection_ = request->selection;
    if (plan_.planned.empty()) return nothing_matched();
    if (!places_->problem().empty()) {
      return usage(world_,
                   places_->problem() + "; name a place with --output DIR or --log-file PATH");
    }
    if (const Status named = places_->name(plan_.host, plan_.planned); !named) {
      return usage(world_, "--log-file: " + named.error().message);
    }
    show_plan();
    if (plan_.session.empty()) return finish();
    return commit();
  }

  ExitCode attach() {
    if (const auto end = choose_places()) return *end;
    plan_.session = options_.follow;
    return follow(world_.clock.monotonic());
  }

 private:
  [[nodiscard]] std::string start_time_problem() const {
    const WallTime start{Milliseconds(options_.start_time_ms)};
    const WallTime now = world_.clock.wall();
    if (options_.start_time_ms <= 0 || start >= now) return "";
    return fmt::format(
        "--profile-start-time: {} ms since the epoch is in the past: {}, and now it is {}",
        options_.start_time_ms, to_rfc3339(start), to_rfc3339(now));
  }

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

  std::optional<ExitCode> choose_places() {
    if (!options_.wait && !options_.output.empty()) {
      return usage(world_,
                   "--output needs a dyno that waits. After --no-wait the daemon keeps what is to "
                   "be brought: `dyno traces fetch SESSION --output DIR`");
    }
    const Status output =
        check_output(options_.output, world_.working_directory, options_.log_file);
    if (!output) return usage(world_, output.error().message);
    auto places = TracePlaces::choose(options_, world_, client_.endpoint().is_local());
    if (!places) return usage(world_, places.error().message);
    places_ = std::move(*places);
    return std::nullopt;
  }

  void show_plan() {
    PlanView view{.columns = world_.out_columns,
                  .iterations = outcome_.iterations,
                  .brought_to = {},
                  .waits = options_.wait,
                  .summary_follows = plan_.session.empty() && !global_.json};
    for (const rpc::PlannedTrace& each : plan_.planned) {
      if (each.brought) view.brought_to[each.pid] = places_->path_of(each.pid);
    }
    talk(world_, global_) << render_plan(plan_, view);
  }

  ExitCode not_prepared(const CallFailure& failure, const rpc::PrepareRequest& request) {
    if (client_.may_be_existing_daemon(failure)) return run_existing_trace(client_, request);
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
    show_plan();
    world_.out.flush();
    world_.err << fmt::format(
        "dyno: no process matched; nothing was traced. `{}` lists those that can be. A job "
        "calls in once it has imported torch.\n",
        same_daemon(global_, "ps"));
    const ExitCode code = exit_code(outcome_);
    rpc::DiagnoseRequest about{.pids = selection_.pids, .job = selection_.job, .iterations = false};
    // Of all others nobody asked.
    if (about.pids.empty() && !about.job) about.among = selection_;
    ask_about(about);
    say_why();
    if (global_.json) world_.out << trace_json(plan_, outcome_, code);
    return code;
  }

  void ask_about(const rpc::DiagnoseRequest& about) {
    Client client(world_, global_);
    client.interrupted_by(interrupt_fd_);
    outcome_.findings = ask_why(client, about);
  }

  // A success is not held up, nor who interrupts.
  void ask_about_failures(ExitCode code) {
    if (outcome_.interrupted) return;
    if (code != ExitCode::failed && code != ExitCode::deadline) return;
    rpc::DiagnoseRequest about{.pids = in_question(outcome_, selection_.pids),
                               .job = {},
                               .iterations = outcome_.iterations > 0};
    // A rank that was named and is not there is one of the job's.
    if (about.pids.empty() && !outcome_.unmatched.empty()) about.job = selection_.job;
    if (!about.pids.empty() || about.job) ask_about(about);
  }

  void say_why() {
    world_.out.flush();
    world_.err << render_reasons(outcome_.findings, global_);
  }

  ExitCode commit() {
    say_if_too_short();
    committed_ = world_.clock.wall();
    const MonotonicTime committed = world_.clock.monotonic();
    const rpc::CommitRequest request{.session = plan_.session,
                                     .deadline_s = options_.wait ? options_.deadline_s : 0,
                                     .attended = options_.wait};
    const auto reply =
        client_.ask<rpc::CommitReply>(rpc::encode(request), rpc::decode_commit_reply);
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
        if (!reply->beyond_recall.empty()) places_->keep_directory();
        return finish();
      }
    }
    places_->keep_directory();
    world_.err << fmt::format(
        "dyno: session {} may have begun all the same: `{}` shows it, `{}` withdraws it\n",
        plan_.session, same_daemon(global_, "gputrace --follow " + plan_.session),
        same_daemon(global_, "gputrace --cancel " + plan_.session));
    return ExitCode::failed;
  }

  ExitCode leave_running() {
    places_->keep_directory();
    bool problem = std::ranges::any_of(
        plan_.planned, [](const auto& planned) { return !planned.problem.empty(); });
    problem |= !outcome_.unmatched.empty();
    const ExitCode code = problem ? ExitCode::failed : ExitCode::ok;
    ask_about_failures(code);
    say_why();
    if (global_.json) {
      world_.out << trace_json(plan_, outcome_, code);
      return code;
    }
    world_.out << fmt::format("session {}: asked for, not waited for. Its end: {}\n", plan_.session,
                              same_daemon(global_, "gputrace --follow " + plan_.session));
    if (std::ranges::any_of(plan_.planned, &rpc::PlannedTrace::brought)) {
      world_.out << fmt::format("what the daemon keeps of it: {}\n",
                                same_daemon(global_, "traces fetch " + plan_.session));
    }
    return code;
  }

  ExitCode follow(MonotonicTime committed) {
    take_interrupts();
    const bool mine = options_.follow.empty();
    SessionFollower follower(client_, *places_,
                             {.session = plan_.session,
                              .committed = committed,
                              .deadline_s = options_.deadline_s,
                              .interrupt_fd = interrupt_fd_,
                              .on_interrupt = mine ? OnInterrupt::cancel : OnInterrupt::leave});
    if (const auto followed = follower.follow(outcome_); !followed) {
      places_->keep_directory();
      return report(world_, followed.error());
    }
    if (outcome_.updates.empty() || std::ranges::any_of(outcome_.updates, may_still_write)) {
      places_->keep_directory();
    }
    return finish();
  }

  ExitCode finish() {
    look_around();
    const ExitCode code = exit_code(outcome_);
    ask_about_failures(code);
    if (global_.json) {
      world_.out << trace_json(plan_, outcome_, code);
    } else {
      world_.out << render_summary(outcome_, world_.out_columns);
    }
    say_why();
    say_what_stays();
    return code;
  }

  void look_around() {
    const bool local = client_.endpoint().is_local();
    if (outcome_.check_wanted && !outcome_.interrupted) {
      check_what_is_visible({.clock = world_.clock,
                             .local = local,
                             .since = committed_,
                             .interrupt_fd = interrupt_fd_},
                            outcome_);
    }
    const std::string host = outcome_.host.empty() ? client_.endpoint().host : outcome_.host;
    mark_places(local ? "" : host, outcome_);
  }

  void say_what_stays() {
    const bool kept = std::ranges::any_of(outcome_.updates, [&](const auto& update) {
      const Fetched* fetched = fetched_of(outcome_, update.pid);
      return update.location == "daemon" ||
             (fetched != nullptr && fetched->state == Fetched::State::failed);
    });
    if (!kept) return;
    world_.err << fmt::format("dyno: what was not brought stays with the daemon: `{}`\n",
                              same_daemon(global_, "traces fetch " + plan_.session));
  }

  const World& world_;
  const GlobalOptions& global_;
  const GputraceOptions& options_;
  Client client_;
  std::optional<TracePlaces> places_;
  rpc::SelectionSpec selection_;  // empty when a session was re-attached to
  rpc::PrepareReply plan_;
  TraceOutcome outcome_;
  WallTime committed_{};
  int interrupt_fd_ = -1;
};

}  // namespace

ExitCode run_trace(const World& world, const GlobalOptions& global,
                   const GputraceOptions& options) {
  if (!options.cancel.empty()) return run_cancel(world, global, options.cancel);
  TraceRun run(world, global, options);
  return options.follow.empty() ? run.start() : run.attach();
}

ExitCode run_cancel(const World& world, const GlobalOptions& global, const std::string& session) {
  Client client(world, global);
  const auto reply = cancel_session(client, session);
  if (!reply) return report(world, reply.error());
  world.out << (global.json ? pretty_json(rpc::encode(*reply)) : cancel_text(*reply) + "\n");
  const bool all = reply->withdrawn > 0 && reply->beyond_recall.empty();
  return all ? ExitCode::ok : ExitCode::failed;
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
  const std::string log_file = expand_path(request.trace.log_file, {}).value_or("");
  if (client.options().json) {
    world.out << pretty_json(fmt::format(R"({{"schema":1,"existing_daemon":true,"reply":{}}})",
                                         rpc::encode_legacy(*reply)));
  } else if (reply->processes_matched.empty()) {
    world.out << "No processes were matched, please check --job-id or --pids flags\n";
  } else {
    world.out << fmt::format("Matched {} processes\nTrace output files will be written to:\n",
                             reply->processes_matched.size());
    for (const std::int64_t pid : reply->processes_matched) {
      world.out << "    " << legacy_file_name(log_file, pid) << "\n";
    }
  }
  return reply->processes_matched.empty() ? ExitCode::nothing_matched : ExitCode::ok;
}

}  // namespace dynolog
