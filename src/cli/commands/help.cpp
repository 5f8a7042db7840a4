// dyno help: the same texts as --help.
#include <ostream>

#include <CLI/App.hpp>

#include "base/text.h"
#include "cli/commands/commands.h"

namespace dynolog::commands {
namespace {

constexpr const char* kExamples = R"(
Examples:
  dyno help
  dyno help gputrace
  dyno gputrace --help         the same)";

class HelpCommand final : public Command {
 public:
  explicit HelpCommand(CLI::App& app) : app_(app) {
    app.add_option("command", command_, "The command");
  }

  ExitCode run(const World& world, const GlobalOptions& /*global*/) override {
    const CLI::App* root = app_.get_parent();
    if (command_.empty()) {
      world.out << root->help();
      return ExitCode::ok;
    }
    for (const CLI::App* command : root->get_subcommands([](const CLI::App*) { return true; })) {
      if (command->check_name(command_)) {
        world.out << command->help(root->get_name());
        return ExitCode::ok;
      }
    }
    world.err << "dyno: there is no command \"" << clean_text(command_, 60) << "\"\n";
    return ExitCode::usage;
  }

 private:
  CLI::App& app_;
  std::string command_;
};

}  // namespace

std::unique_ptr<Command> make_help(CLI::App& app) {
  app.description("Prints the help of a command.");
  app.footer(kExamples);
  return std::make_unique<HelpCommand>(app);
}

}  // namespace dynolog::commands
