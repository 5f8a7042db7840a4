// dyno help: the same texts as --help.
#include <ostream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/FormatterFwd.hpp>

#include "base/text.h"
#include "cli/commands/commands.h"

namespace dynolog::commands {
namespace {

constexpr const char* kExamples = R"(
Examples:
  dyno help
  dyno help gputrace
  dyno help traces fetch
  dyno gputrace --help         the same)";

class HelpCommand final : public Command {
 public:
  explicit HelpCommand(CLI::App& app) : app_(app) {
    app.add_option("command", words_, "The command");
  }

  ExitCode run(const World& world, const GlobalOptions& /*global*/) override {
    const CLI::App* at = app_.get_parent();
    std::string name = at->get_name();
    for (const std::string& word : words_) {
      const auto below = at->get_subcommands(
          [&word](const CLI::App* command) { return command->check_name(word); });
      if (below.empty()) {
        world.err << "dyno: there is no command \"" << clean_text(word, 60) << "\"\n";
        return ExitCode::usage;
      }
      at = below.front();
      name += " " + at->get_name();
    }
    // Not at->help(), which would go on to the command that was typed: this one.
    world.out << at->get_formatter()->make_help(at, name, CLI::AppFormatMode::Normal);
    return ExitCode::ok;
  }

 private:
  CLI::App& app_;
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> make_help(CLI::App& app) {
  app.description("Prints the help of a command.");
  app.footer(kExamples);
  return std::make_unique<HelpCommand>(app);
}

}  // namespace dynolog::commands
