// One list call tells which sessions there are; fetching is the fetcher's, as in gputrace.
#include "cli/kept_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <utility>

#include "cli/client.h"
#include "cli/daemon_owner.h"
#include "cli/hint.h"
#include "cli/local_check.h"
#include "cli/progress.h"
#include "cli/rank_order.h"
#include "cli/render.h"
#include "cli/render_json.h"
#include "cli/render_summary.h"
#include "cli/session_follower.h"
#include "cli/table.h"
#include "cli/trace_fetcher.h"
#include "cli/trace_places.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

using Align = Table::Align;

CallResult<rpc::ListTracesReply> ask_list(Client& client) {
  auto reply = client.ask<rpc::ListTracesReply>(rpc::encode_request("listTraces"),
                                                rpc::decode_list_traces_reply);
  if (!reply && client.may_be_existing_daemon(reply.error())) {
    reply.error().error.message += "; an existing dynolog daemon knows of no sessions";
  }
  say_whom_it_serves(client);
  return reply;
}

// "3 delivered, 1 lost"
std::string states_text(const rpc::SessionRow& row) {
  std::map<std::string, int> counts;
  for (const rpc::TraceUpdate& trace : row.traces) ++counts[trace.state];
  std::string text;
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
  }
  return or_dash(text);
}

// The first one's stands for the job's; it is only cut where somebody looks at a screen.
std::string command_of(const rpc::SessionRow& row, int columns) {
  constexpr std::size_t kRoom = 40;
  if (row.commands.empty()) return "-";
  const std::string& command = row.commands.front();
  return columns > 0 ? short_command(command, kRoom) : command;
}

std::string since(std::int64_t then_ms, std::int64_t now_ms) {
  const double seconds = (static_cast<double>(now_ms) - static_cast<double>(then_ms)) / 1000;
  return duration_text(std::max(seconds, 0.0));
}

bool can_be_fetched(const rpc::TraceUpdate& trace) {
  return trace.fetchable || trace.location == "daemon";
}

ExitCode no_such_session(const World& world, const GlobalOptions& global,
                         const std::string& session) {
  world.err << fmt::format("dyno: no session {} of yours is known there: `{}` lists them\n",
                           shell_word(session), same_daemon(global, "traces list"));
  return ExitCode::nothing_matched;
}

TraceOutcome outcome_of(const rpc::SessionRow& row, const Client& client) {
  TraceOutcome outcome;
  outcome.updates = row.traces;
  sort_by_rank(outcome.updates);
  mark_places(client.endpoint().is_local() ? "" : client.endpoint().host, outcome);
  return outcome;
}

class FetchRun {
 public:
  FetchRun(const World& world, const GlobalOptions& global, const FetchOptions& options)
      : world_(world), global_(global), options_(options), client_(world, global) {}

  ExitCode run() {
    const Status output = check_output(options_.output, world_.working_directory, std::nullopt);
    if (!output) return usage(output.error().message);
    interrupt_fd_ = world_.take_interrupts();
    client_.interrupted_by(interrupt_fd_);
    const auto list = ask_list(client_);
    if (!list) return report(world_, list.error());
    const auto row = std::ranges::find(list->sessions, options_.session, &rpc::SessionRow::session);
    if (row == list->sessions.end()) return no_such_session(world_, global_, options_.session);
    session_ended_ = row->ended;
    outcome_.host = list->host;
    for (const rpc::TraceUpdate& trace : row->traces) {
      if (can_be_fetched(trace)) outcome_.updates.push_back(trace);
    }
    if (outcome_.updates.empty()) return nothing_to_fetch();
    sort_by_rank(outcome_.updates);
    return fetch_all();
  }

 private:
  ExitCode nothing_to_fetch() {
    world_.err << fmt::format(
        "dyno: nothing of session {} is to be fetched: `{}` says where its files are\n",
        shell_word(options_.session),
        same_daemon(global_, "traces show " + shell_word(options_.session)));
    return ExitCode::nothing_matched;
  }

  ExitCode fetch_all() {
    GputraceOptions places_asked;
    places_asked.output = options_.output;
    places_asked.gzip = options_.gzip;
    places_asked.follow = options_.session;  // its own directory only when a file comes
    auto places = TracePlaces::choose(places_asked, world_, false);
    if (!places) return usage(places.error().message);
    const Status named = places->name_updates(outcome_.host, outcome_.updates);
    if (!named) return usage(named.error().message);
    TraceFetcher fetcher(world_, global_, options_.session, interrupt_fd_);
    for (const rpc::TraceUpdate& update : outcome_.updates) {
      auto place = places->place_of(update.pid);
      if (place) {
        fetcher.want({update.pid, place->directory, place->name, place->gzip});
      } else {
        fetcher.refuse(update.pid, place.error().message);
      }
    }
    work(fetcher);
    return finish();
  }

  ExitCode usage(const std::string& sentence) {
    world_.err << "dyno: " << sentence << "\n";
    return ExitCode::usage;
  }

  void work(TraceFetcher& fetcher) {
    Progress screen(world_);
    outcome_.fetched = fetcher.results();
    while (fetcher.busy()) {
      if (fetcher.step()) {
        outcome_.fetched = fetcher.results();
        screen.show_fetching(outcome_);
        continue;
      }
      const std::array fds{fetcher.fd()};
      if (wait_for_any(fds, interrupt_fd_, world_.clock, fetcher.wakes_at()) !=
          Waited::interrupted) {
        continue;
      }
      outcome_.interrupted = true;
      fetcher.stop("interrupted");
    }
    outcome_.fetched = fetcher.results();
  }

  ExitCode finish() {
    tell_where_files_are(outcome_);
    if (!outcome_.interrupted) {
      check_what_is_visible({.clock = world_.clock, .interrupt_fd = interrupt_fd_}, outcome_);
    }
    const ExitCode code = exit_code(outcome_);
    if (global_.json) {
      rpc::PrepareReply plan;
      plan.session = options_.session;
      world_.out << trace_json(plan, outcome_, code);
    } else {
      world_.out << render_summary(outcome_, world_.out_columns);
    }
    if (session_ended_) return code;
    world_.out.flush();
    world_.err << fmt::format("dyno: the session goes on: `{}`\n",
                              same_daemon(global_, "gputrace --follow " + options_.session));
    return code;
  }

  const World& world_;
  const GlobalOptions& global_;
  const FetchOptions& options_;
  Client client_;
  TraceOutcome outcome_;
  bool session_ended_ = false;
  int interrupt_fd_ = -1;
};

}  // namespace

std::string render_sessions(const rpc::ListTracesReply& reply, std::int64_t now_ms, int columns) {
  Table table({{"SESSION"},
               {"AGE", Align::right},
               {"USER"},
               {"TRACES"},
               {"KEPT", Align::right},
               {"FOR-ANOTHER", Align::right},
               {"COMMAND"}});
  for (const rpc::SessionRow& row : reply.sessions) {
    table.add({row.session, since(row.created_ms, now_ms), or_dash(row.user), states_text(row),
               row.kept_bytes > 0 ? bytes_text(row.kept_bytes) : "-",
               row.kept_until_ms > 0 ? since(now_ms, row.kept_until_ms) : "-",
               command_of(row, columns)});
  }
  std::string out = reply.sessions.empty() ? "" : table.text(0);
  out += fmt::format("the daemon keeps {} of yours, {} at most, each for {}\n",
                     bytes_text(reply.kept_bytes), bytes_text(reply.quota_bytes),
                     duration_text(reply.keep_s));
  return out;
}

ExitCode list_traces(const World& world, const GlobalOptions& global) {
  Client client(world, global);
  const auto reply = ask_list(client);
  if (!reply) return report(world, reply.error());
  if (global.json) {
    world.out << pretty_json(rpc::encode(*reply));
    return ExitCode::ok;
  }
  if (reply->sessions.empty()) world.err << "No session of yours is known there.\n";
  world.out << render_sessions(*reply, epoch_milliseconds(world.clock.wall()), world.out_columns);
  return ExitCode::ok;
}

ExitCode show_traces(const World& world, const GlobalOptions& global, const std::string& session) {
  Client client(world, global);
  auto reply = ask_list(client);
  if (!reply) return report(world, reply.error());
  std::erase_if(reply->sessions, [&](const auto& row) { return row.session != session; });
  if (reply->sessions.empty()) return no_such_session(world, global, session);
  if (global.json) {
    world.out << pretty_json(rpc::encode(*reply));
    return ExitCode::ok;
  }
  const rpc::SessionRow& row = reply->sessions.front();
  world.out << render_sessions(*reply, epoch_milliseconds(world.clock.wall()), world.out_columns)
            << "\n"
            << render_summary(outcome_of(row, client), world.out_columns);
  if (std::ranges::any_of(row.traces, can_be_fetched)) {
    world.out << fmt::format("to bring what is kept: {}\n",
                             same_daemon(global, "traces fetch " + shell_word(session)));
  }
  return ExitCode::ok;
}

ExitCode fetch_traces(const World& world, const GlobalOptions& global,
                      const FetchOptions& options) {
  return FetchRun(world, global, options).run();
}

ExitCode delete_traces(const World& world, const GlobalOptions& global,
                       const std::string& session) {
  Client client(world, global);
  const auto reply = client.ask<rpc::DeleteTraceReply>(
      rpc::encode_request("deleteTrace", rpc::SessionRequest{session}),
      rpc::decode_delete_trace_reply);
  if (!reply) return report(world, reply.error());
  world.out << (global.json ? pretty_json(rpc::encode(*reply))
                            : fmt::format("session {} is forgotten; {} freed\n",
                                          shell_word(session), bytes_text(reply->freed_bytes)));
  return ExitCode::ok;
}

}  // namespace dynolog
