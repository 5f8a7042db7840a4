// dyno log-level: how much the daemon logs, or from now on.
#include <fmt/format.h>

#include <ostream>

#include <CLI/App.hpp>

#include "base/log.h"
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/render_json.h"
#include "rpc/protocol/codec.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Sets the least level that the daemon logs, at once and without a restart; without LEVEL it\n"
    "prints the present one. It lasts until the daemon's end or its next reload, which sets what\n"
    "the configuration says. Only root and the daemon's own user may change it.";
constexpr const char* kExamples = R"(
Examples:
  dyno log-level                what it is now
  dyno log-level debug          while you look for something: journalctl -fu dynolog
  dyno log-level info           and back
  dyno log-level --json | jq -r .level

Exit codes: 0 done, 6 no daemon, 7 not permitted. Global options: dyno --help)";

class LogLevelCommand final : public Command {
 public:
  explicit LogLevelCommand(CLI::App& app) {
    app.add_option("level", level_, "debug, info, warning or error")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    Client client(world, global);
    const std::string request = level_.empty() ? rpc::encode_request("logLevel")
                                               : rpc::encode(rpc::SetLogLevelRequest{level_});
    auto reply = client.ask<rpc::LogLevelReply>(request, rpc::decode_log_level_reply);
    if (!reply) {
      if (client.may_be_existing_daemon(reply.error())) {
        reply.error().error.message += "; an existing dynolog daemon has no such call";
      }
      return report(world, reply.error());
    }
    if (global.json) {
      world.out << pretty_json(rpc::encode(*reply));
    } else {
      world.out << reply->level << "\n";
    }
    if (!level_.empty() && reply->level != reply->configured) {
      world.err << fmt::format("dyno: until the next reload, which sets it to {} (log_level)\n",
                               reply->configured);
    }
    return ExitCode::ok;
  }

 private:
  std::string level_;
};

}  // namespace

std::unique_ptr<Command> make_log_level(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<LogLevelCommand>(app);
}

}  // namespace dynolog::commands
