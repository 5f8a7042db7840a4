// dyno env: the variables that a job needs, in the caller's shell's words.
#include <ostream>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/render_json.h"
#include "cli/shell_text.h"
#include "rpc/protocol/codec.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Prints the variables that make a PyTorch job traceable, for your shell to evaluate before it\n"
    "starts the job. The daemon makes a socket directory that only you can use; PyTorch finds it\n"
    "through KINETO_IPC_SOCKET_DIR.";
constexpr const char* kExamples = R"TEXT(
Examples:
  eval "$(dyno env)"                     bash, zsh, sh: then start the job
  dyno env --shell fish | source
  eval `dyno env --shell csh`
  srun --export=ALL bash -c 'eval "$(dyno env)"; exec python train.py'
  dyno env --json                        for programs that start jobs

Exit codes: 0 printed, 4 the directory cannot be used, 6 no daemon (nothing is printed).
Environment: XDG_RUNTIME_DIR says where your own daemon is.)TEXT";

class EnvCommand final : public Command {
 public:
  explicit EnvCommand(CLI::App& app) {
    app.add_option("--shell", shell_, "bash, zsh, sh, fish or csh")
        ->check(CLI::IsMember({"bash", "zsh", "sh", "fish", "csh", "tcsh"}))
        ->capture_default_str();
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    Client client(world, global);
    const auto reply = client.ask<rpc::SocketDirectoryReply>(rpc::encode_request("socketDirectory"),
                                                             rpc::decode_socket_directory_reply);
    if (!reply && reply.error().kind == CallFailureKind::from_daemon &&
        reply.error().error.kind == ErrorKind::unavailable) {
      return without_directory(world, global, reply.error().error.message);
    }
    if (!reply) return report(world, reply.error());
    if (const Status usable = check_socket_directory(reply->directory); !usable) {
      world.err << "dyno: " << usable.error().message << "\n";
      return ExitCode::failed;
    }
    print(world, global, reply->directory);
    return ExitCode::ok;
  }

 private:
  [[nodiscard]] Shell shell() const {
    if (shell_ == "fish") return Shell::fish;
    return shell_ == "csh" || shell_ == "tcsh" ? Shell::csh : Shell::posix;
  }

  // The abstract name works without a directory, if the daemon serves it.
  ExitCode without_directory(const World& world, const GlobalOptions& global,
                             const std::string& why) const {
    print(world, global, "");
    // csh takes a comment in `eval` for the rest of everything.
    std::ostream& comments = global.json || shell() == Shell::csh ? world.err : world.out;
    comments << "# no socket directory of your own: " << why << "\n";
    return ExitCode::ok;
  }

  void print(const World& world, const GlobalOptions& global, const std::string& directory) const {
    if (global.json) {
      nlohmann::ordered_json out{{"schema", rpc::kSchema}};
      out["environment"]["KINETO_USE_DAEMON"] = "1";
      if (!directory.empty()) out["environment"]["KINETO_IPC_SOCKET_DIR"] = directory;
      world.out << pretty_json(out.dump());
      return;
    }
    world.out << shell_export("KINETO_USE_DAEMON", "1", shell());
    if (!directory.empty()) {
      world.out << shell_export("KINETO_IPC_SOCKET_DIR", directory, shell());
    }
  }

  std::string shell_ = "bash";
};

}  // namespace

std::unique_ptr<Command> make_env(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<EnvCommand>(app);
}

}  // namespace dynolog::commands
