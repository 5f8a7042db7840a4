// dyno ps: who has called in.
#include <ostream>

#include <CLI/App.hpp>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/daemon_owner.h"
#include "cli/rank_order.h"
#include "cli/render.h"
#include "cli/render_json.h"
#include "rpc/protocol/codec.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Lists the PyTorch processes that have called in at the daemon: your own, or everybody's for\n"
    "root. STATE is idle (can be traced), busy (a profiler runs in it), stalled (it no longer\n"
    "calls), or how far a trace is. ROLE tells the workers of a job from its launchers (torchrun\n"
    "and the like) and data loaders, which call in too; GPU says which devices each holds. JOB is\n"
    "what `dyno gputrace --job-id` takes. Commands are cut to a terminal's width.";
constexpr const char* kExamples = R"(
Examples:
  dyno ps                      pid, job, rank, torch version and state of each process
  dyno ps --wide               with scheduler, step, container, endpoint, and what could not be read
  dyno ps --json | jq '.processes[] | select(.state == "stalled") | .pid'

Exit codes: 0, also for an empty list; 6 no daemon; 7 refused. Global options: dyno --help)";

class PsCommand final : public Command {
 public:
  explicit PsCommand(CLI::App& app) {
    app.add_flag("--wide,-w", wide_, "More columns; commands are never cut");
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    Client client(world, global);
    auto reply = client.ask<rpc::ListProcessesReply>(rpc::encode_request("listProcesses"),
                                                     rpc::decode_list_processes_reply);
    if (!reply) {
      if (client.may_be_existing_daemon(reply.error())) {
        reply.error().error.message += "; an existing dynolog daemon cannot list processes";
      }
      return report(world, reply.error());
    }
    say_whom_it_serves(client);
    sort_by_rank(reply->processes);
    if (global.json) {
      world.out << pretty_json(rpc::encode(*reply));
    } else if (reply->processes.empty()) {
      world.err << render_no_processes();
    } else {
      world.out << render_processes(*reply, wide_, world.out_columns);
    }
    return ExitCode::ok;
  }

 private:
  bool wide_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ps(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<PsCommand>(app);
}

}  // namespace dynolog::commands
