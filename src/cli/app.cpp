// CLI11 does the parsing; spellings with underscores and suggestions are added here.
#include "cli/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/text.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/value_check.h"

namespace dynolog {
namespace {

constexpr const char* kDescription =
    "Asks the dynolog daemon of a host: how it is, which PyTorch processes run there, and to "
    "trace\n"
    "them. A job can be traced when KINETO_USE_DAEMON=1 was set as it started: eval \"$(dyno "
    "env)\".";
constexpr const char* kFooter = R"(
Which daemon is asked: --hostname or --port means TCP; --run-dir means the daemon of that directory;
otherwise your own ($XDG_RUNTIME_DIR/dynolog, /tmp/dynolog-UID), then the system's (/run/dynolog).

Examples:
  dyno ps                                   which processes can be traced
  dyno gputrace --log-file /tmp/t.json      trace all of your own
  dyno --hostname node7 status
  dyno help gputrace

Exit codes: 0 done, 1 something is broken (doctor), 2 usage, 3 nothing matched, 4 some or all
failed, 5 deadline, 6 no daemon, 7 refused, 8 in its place but not checked.)";

std::vector<const CLI::App*> commands_below(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void collect_long_names(const CLI::App& app, std::set<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.insert(name);
  }
  for (const CLI::App* command : commands_below(app)) collect_long_names(*command, names);
}

void collect_commands(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::App* command : commands_below(app)) {
    names.push_back(command->get_name());
    collect_commands(*command, names);
  }
}

// " traces list" for what was typed of the commands.
std::string typed_commands(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return "";
  return " " + chosen.front()->get_name() + typed_commands(*chosen.front());
}

// "--log_file=x" is "--log-file=x"; values are left alone.
std::string with_dashes(const std::string& argument, const std::set<std::string>& names) {
  if (!argument.starts_with("--")) return argument;
  const auto end = std::min(argument.find('='), argument.size());
  std::string name = argument.substr(2, end - 2);
  std::ranges::replace(name, '_', '-');
  return names.contains(name) ? "--" + name + argument.substr(end) : argument;
}

// The innermost of the commands that were typed.
const CLI::App& typed_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : typed_command(*chosen.front());
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> options;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  return options;
}

// Only of what could stand there: the options of the typed command and the global ones, and the
// commands below it.
std::string suggestion(const CLI::App& root, const std::vector<std::string>& arguments) {
  const CLI::App& typed = typed_command(root);
  std::vector<std::string> options = options_of(root);
  if (&typed != &root) {
    for (std::string& option : options_of(typed)) options.push_back(std::move(option));
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : commands_below(typed)) commands.push_back(command->get_name());
  std::vector<std::string> all_commands;
  collect_commands(root, all_commands);
  for (const std::string& argument : arguments) {
    const std::string word = argument.substr(0, argument.find('='));
    const bool option = word.starts_with('-');
    const std::vector<std::string>& known = option ? options : all_commands;
    if (std::ranges::find(known, word) != known.end()) continue;
    const std::string near = nearest(word, option ? options : commands);
    if (!near.empty()) return fmt::format(" Did you mean {}?", near);
  }
  return "";
}

// Whether the sentence begins with an option that stands in the root's help alone.
bool is_about_global_option(const CLI::App& root, std::string_view sentence) {
  return std::ranges::any_of(options_of(root), [&](const std::string& option) {
    return sentence.starts_with(option + ":") && option != "--help";
  });
}

void add_global_options(CLI::App& root, GlobalOptions& global) {
  root.add_option("--hostname,--host", global.hostname, "Host whose daemon is asked, over TCP")
      ->check(host_only());
  root.add_option("--port", global.port, "Its port (1778); alone: TCP on this host")
      ->check(whole_number(1, 65535));
  root.add_option("--run-dir", global.run_dir, "Run directory of the daemon to ask")
      ->check(not_empty());
  root.add_option("--timeout", global.timeout_s, "Seconds that an answer may take")
      ->check(number(0.01, 86400))
      ->capture_default_str();
  root.add_flag("--json", global.json, "Data as JSON on stdout, all else on stderr");
  root.add_flag("--verbose,-v", global.verbose, "Say which daemon is asked");
  root.set_version_flag("--version", fmt::format("dyno {}", kVersion));
}

struct Declared {
  CLI::App* app = nullptr;
  std::unique_ptr<Command> command;
};

std::vector<Declared> add_commands(CLI::App& root) {
  std::vector<Declared> commands;
  for (const CommandEntry& entry : all_commands()) {
    CLI::App* app = root.add_subcommand(std::string(entry.name));
    if (!entry.alias.empty()) app->alias(std::string(entry.alias));
    app->fallthrough();
    commands.push_back({app, entry.make(*app)});
  }
  return commands;
}

std::string list_of_commands() {
  std::string text = "\nCommands:\n";
  for (const CommandEntry& entry : all_commands()) {
    const std::string names = entry.alias.empty() ? std::string(entry.name)
                                                  : fmt::format("{}, {}", entry.name, entry.alias);
    text += fmt::format("  {:<20}{}\n", names, entry.summary);
  }
  return text;
}

// Of a command that has some of its own, each with the first line of what it says of itself.
std::string list_of_commands(const CLI::App& app) {
  const auto commands = commands_below(app);
  if (commands.empty()) return "";
  std::string text = "\nCommands:\n";
  for (const CLI::App* command : commands) {
    const std::string about = command->get_description();
    text += fmt::format("  {:<20}{}\n", command->get_name(), about.substr(0, about.find('\n')));
  }
  return text;
}

// Subcommands are listed by our own table, since CLI11 would print their whole descriptions.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(40); }
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode /*mode*/) const override {
    return app->get_parent() == nullptr ? list_of_commands() : list_of_commands(*app);
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string text = CLI::Formatter::make_footer(app);
    return text.empty() || text.ends_with('\n') ? text : text + "\n";
  }
  // Ranges are for error messages; help shows kind and default.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_items_expected_max() == 0) return "";
    const std::string kind = option->get_type_name();
    const std::string preset = option->get_default_str();
    return " " + kind.substr(0, kind.find(':')) + (preset.empty() ? "" : "=" + preset);
  }
};

ExitCode wrong_usage(const World& world, const CLI::App& root, const CLI::ParseError& error,
                     const std::vector<std::string>& arguments) {
  // Only a word that nobody knows may be a slip of the pen; in a command's place it is missed.
  const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                       dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string sentence = clean_text(error.what(), 300);
  world.err << fmt::format("dyno: {}.{} See dyno{} --help\n", sentence,
                           unknown ? suggestion(root, arguments) : "",
                           is_about_global_option(root, sentence) ? "" : typed_commands(root));
  return ExitCode::usage;
}

}  // namespace

ExitCode run_dyno(const World& world, std::vector<std::string> arguments) {
  CLI::App root(kDescription, "dyno");
  root.footer(kFooter);
  root.formatter(std::make_shared<HelpFormatter>());
  GlobalOptions global;
  add_global_options(root, global);
  const std::vector<Declared> commands = add_commands(root);
  root.require_subcommand(0, 1);
  std::set<std::string> names;
  collect_long_names(root, names);
  for (std::string& argument : arguments) argument = with_dashes(argument, names);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    root.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = root.get_subcommands();
    world.out << (chosen.empty() ? root.help() : chosen.front()->help(root.get_name()));
    return ExitCode::ok;
  } catch (const CLI::CallForVersion& version) {
    world.out << version.what() << "\n";
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    return wrong_usage(world, root, error, arguments);
  }
  for (const Declared& declared : commands) {
    if (declared.app->parsed()) return declared.command->run(world, global);
  }
  world.err << root.help();
  return ExitCode::usage;
}

}  // namespace dynolog
