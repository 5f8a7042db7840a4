// dyno status: the daemon, its features, its own cost.
#include <fmt/format.h>

#include <ostream>

#include <CLI/App.hpp>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/render.h"
#include "cli/render_json.h"
#include "rpc/protocol/codec.h"
#include "rpc/protocol/legacy.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Says how the daemon is: which of its features work here and why others do not, how many\n"
    "processes have called in, what it costs. `dyno status` also says which daemon was asked.";
constexpr const char* kExamples = R"(
Examples:
  dyno status                           the daemon of this host, or your own
  dyno --hostname node7 status          the daemon of another host
  dyno status --json | jq .features     for scripts

Exit codes: 0 it answers, 6 no daemon. Global options: dyno --help)";

class StatusCommand final : public Command {
 public:
  ExitCode run(const World& world, const GlobalOptions& global) override {
    Client client(world, global);
    const auto reply =
        client.ask<rpc::StatusReply>(rpc::encode_request("daemonStatus"), rpc::decode_status_reply);
    if (!reply && client.may_be_existing_daemon(reply.error())) return existing(client);
    if (!reply) return report(world, reply.error());
    world.out << (global.json ? pretty_json(rpc::encode(*reply))
                              : render_status(*reply, client.endpoint().text()));
    return ExitCode::ok;
  }

 private:
  static ExitCode existing(Client& client) {
    const World& world = client.world();
    client.disconnect();
    const auto status =
        client.ask<std::int64_t>(rpc::encode_request("getStatus"), rpc::decode_legacy_status);
    if (!status) return report(world, status.error());
    world.err << "dyno: " << client.endpoint().text()
              << " is an existing dynolog daemon: it says no more than this\n";
    if (client.options().json) {
      world.out << pretty_json(
          fmt::format(R"({{"schema":1,"existing_daemon":true,"status":{}}})", *status));
    } else {
      world.out << fmt::format("status {}\n", *status);
    }
    return ExitCode::ok;
  }
};

}  // namespace

std::unique_ptr<Command> make_status(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<StatusCommand>();
}

}  // namespace dynolog::commands
