// dyno version: both sides of the connection.
#include "base/version.h"

#include <fmt/format.h>

#include <ostream>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/render_json.h"
#include "rpc/protocol/codec.h"
#include "rpc/protocol/legacy.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Prints the version of this command and of the daemon that answers. Every dynolog daemon, old\n"
    "ones included, knows this call.";
constexpr const char* kExamples = R"(
Examples:
  dyno version
  dyno --hostname node7 --port 1778 version
  dyno version --json | jq -r .daemon

Exit codes: 0 the daemon answers, 6 no daemon (dyno's version is printed all the same).)";

class VersionCommand final : public Command {
 public:
  ExitCode run(const World& world, const GlobalOptions& global) override {
    Client client(world, global);
    const auto daemon =
        client.ask<std::string>(rpc::encode_request("getVersion"), rpc::decode_legacy_version);
    const std::string shown = daemon ? clean_text(*daemon, 100) : "";
    if (global.json) {
      nlohmann::ordered_json out{{"schema", rpc::kSchema}, {"dyno", kVersion}};
      if (daemon) out["daemon"] = shown;
      world.out << pretty_json(out.dump());
    } else {
      world.out << "dyno " << kVersion << "\n";
      if (daemon) world.out << fmt::format("dynolog {} at {}\n", shown, client.endpoint().text());
    }
    return daemon ? ExitCode::ok : report(world, daemon.error());
  }
};

}  // namespace

std::unique_ptr<Command> make_version(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<VersionCommand>();
}

}  // namespace dynolog::commands
