// dyno completion: scripts made from the table of commands, so that they cannot be stale.
#include <ostream>

#include <CLI/App.hpp>

#include "cli/commands/commands.h"
#include "cli/option_texts.h"

namespace dynolog::commands {
namespace {

constexpr const char* kExamples = R"(
Examples:
  source <(dyno completion bash)
  dyno completion bash > /etc/bash_completion.d/dyno
  dyno completion zsh > "${fpath[1]}/_dyno"
  dyno completion fish > ~/.config/fish/completions/dyno.fish
  dyno completion man | man -l -        the manual page)";

class CompletionCommand final : public Command {
 public:
  explicit CompletionCommand(CLI::App& app) : app_(app) {
    app.add_option("shell", shell_, "bash, zsh, fish; or man for the manual page")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}));
  }

  ExitCode run(const World& world, const GlobalOptions& /*global*/) override {
    const CLI::App& root = *app_.get_parent();
    if (shell_ == "bash") world.out << bash_completion(root);
    if (shell_ == "zsh") world.out << zsh_completion(root);
    if (shell_ == "fish") world.out << fish_completion(root);
    if (shell_ == "man") world.out << manual_page(root);
    return ExitCode::ok;
  }

 private:
  CLI::App& app_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion(CLI::App& app) {
  app.description("Prints a completion script for a shell, made from dyno's own options.");
  app.footer(kExamples);
  return std::make_unique<CompletionCommand>(app);
}

}  // namespace dynolog::commands
