// Walks the declared commands and options. Only these generators know CLI11's lists.
#include "cli/option_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "base/version.h"
#include "cli/command.h"
#include "cli/shell_text.h"

namespace dynolog {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_lnames().empty();
  });
}

std::vector<std::string> names_of(const CLI::App& command) {
  std::vector<std::string> names{command.get_name()};
  for (const std::string& alias : command.get_aliases()) names.push_back(alias);
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string long_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string all_names(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(root)) {
    for (std::string& name : names_of(*command)) names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string_view summary_of(std::string_view name) {
  for (const CommandEntry& entry : all_commands()) {
    if (entry.name == name || entry.alias == name) return entry.summary;
  }
  return "";
}

// Of a command below another one, which has no row in the table.
std::string first_line(const CLI::App& command) {
  const std::string about = command.get_description();
  return about.substr(0, about.find('\n'));
}

// What may follow the command: the names below it, and its options.
std::string words_after(const CLI::App& command) {
  const std::string below = all_names(command);
  const std::string options = long_words(command);
  return below + (below.empty() || options.empty() ? "" : " ") + options;
}

// "traces:list", for all commands that stand below another one.
std::string nested_names(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(root)) {
    for (const CLI::App* below : commands_of(*command)) {
      names.push_back(fmt::format("{}:{}", command->get_name(), below->get_name()));
    }
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// A line of a shell's `case` for each command and each below one.
std::string case_lines(const CLI::App& root, const char* line) {
  std::string lines;
  for (const CLI::App* command : commands_of(root)) {
    lines +=
        fmt::format(fmt::runtime(line), fmt::join(names_of(*command), "|"), words_after(*command));
    for (const CLI::App* below : commands_of(*command)) {
      lines += fmt::format(fmt::runtime(line),
                           fmt::format("{}:{}", command->get_name(), below->get_name()),
                           words_after(*below));
    }
  }
  return lines;
}

// A text line in roff: backslashes, leading dots and quotes mean something there.
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

std::string roff_option(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const std::string preset = takes_value(option) ? option.get_default_str() : "";
  const std::string text =
      option.get_description() + (preset.empty() ? "" : fmt::format(" (default: {})", preset));
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(fmt::format("{}", fmt::join(names, ", "))),
                     takes_value(option) ? " \\fIVALUE\\fR" : "", roff(text));
}

// `above` are the names of the commands that it stands below, with a space behind.
std::string roff_command(const CLI::App& command, const std::string& above) {
  const std::string names = above + fmt::format("{}", fmt::join(names_of(command), ", "));
  std::string out = fmt::format(".SS {}\n{}\n", roff(names), roff(command.get_description()));
  for (const CLI::Option* option : options_of(command)) out += roff_option(*option);
  out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.get_footer()));
  for (const CLI::App* below : commands_of(command)) {
    out += roff_command(*below, above + command.get_name() + " ");
  }
  return out;
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  return fmt::format(R"(# bash completion for dyno
_dyno() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local names="{}"
  local nested="{}"
  local global="{}"
  local words="" command="" each
  case "$previous" in
    --log-file|--run-dir|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    completion) COMPREPLY=($(compgen -W "bash zsh fish man" -- "$word")); return ;;
    log-level) COMPREPLY=($(compgen -W "debug info warning error" -- "$word")); return ;;
    --shell) COMPREPLY=($(compgen -W "bash zsh sh fish csh" -- "$word")); return ;;
    help) COMPREPLY=($(compgen -W "$names" -- "$word")); return ;;
  esac
  for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " $names " in *" $each "*) [[ -z $command ]] && command="$each" ;; esac
    case " $nested " in *" $command:$each "*) command="$command:$each"; break ;; esac
  done
  case "$command" in
    "") words="$names" ;;
{}  esac
  COMPREPLY=($(compgen -W "$words $global" -- "$word"))
}}
complete -o default -F _dyno dyno
)",
                     all_names(root), nested_names(root), long_words(root),
                     case_lines(root, "    {}) words=\"{}\" ;;\n"));
}

std::string zsh_completion(const CLI::App& root) {
  std::string list;
  for (const CLI::App* command : commands_of(root)) {
    for (const std::string& name : names_of(*command)) {
      list += fmt::format("    {}\n",
                          shell_quoted(fmt::format("{}:{}", name, summary_of(name)), Shell::posix));
    }
  }
  return fmt::format(R"(#compdef dyno
_dyno() {{
  local -a names nested choices global
  names=(
{}  )
  nested=({})
  global=({})
  local command="" each
  for each in "${{(@)words[2,CURRENT-1]}}"; do
    if [[ -z $command ]] && (( ${{names[(I)$each:*]}} )); then command="$each"; continue; fi
    if (( ${{nested[(I)$command:$each]}} )); then command="$command:$each"; break; fi
  done
  local previous="${{words[CURRENT-1]}}"
  case "$previous" in
    --log-file|--run-dir|--output) _files; return ;;
    completion) compadd bash zsh fish man; return ;;
    log-level) compadd debug info warning error; return ;;
    --shell) compadd bash zsh sh fish csh; return ;;
  esac
  case "$command" in
    "") _describe command names ;;
{}  esac
  compadd -- $choices $global
}}
_dyno "$@"
)",
                     list, nested_names(root), long_words(root),
                     case_lines(root, "    {}) choices=({}) ;;\n"));
}

namespace {

std::string fish_options(const CLI::App& app, const std::string& condition) {
  std::string out;
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : option->get_lnames()) {
      const bool file = name == "log-file" || name == "run-dir" || name == "output";
      out += fmt::format("complete -c dyno {}-l {}{} -d {}\n", condition, name,
                         takes_value(*option) ? (file ? " -r -F" : " -x") : "",
                         shell_quoted(option->get_description(), Shell::fish));
    }
  }
  return out;
}

std::string fish_below(const CLI::App& command) {
  std::string out;
  const std::string above = fmt::format("__fish_seen_subcommand_from {}", command.get_name());
  for (const CLI::App* below : commands_of(command)) {
    out += fmt::format(
        "complete -c dyno -n '{}; and not __fish_seen_subcommand_from {}' -a {} -d {}\n", above,
        all_names(command), below->get_name(), shell_quoted(first_line(*below), Shell::fish));
    out += fish_options(*below, fmt::format("-n '{}; and __fish_seen_subcommand_from {}' ", above,
                                            below->get_name()));
  }
  return out;
}

}  // namespace

std::string fish_completion(const CLI::App& root) {
  std::string out = "# fish completion for dyno\ncomplete -c dyno -f\n";
  out += fish_options(root, "");
  for (const CLI::App* command : commands_of(root)) {
    for (const std::string& name : names_of(*command)) {
      out += fmt::format("complete -c dyno -n __fish_use_subcommand -a {} -d {}\n", name,
                         shell_quoted(summary_of(name), Shell::fish));
    }
    out += fish_options(*command, fmt::format("-n '__fish_seen_subcommand_from {}' ",
                                              fmt::join(names_of(*command), " ")));
    out += fish_below(*command);
  }
  return out +
         "complete -c dyno -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish man'\n"
         "complete -c dyno -n '__fish_seen_subcommand_from log-level' "
         "-a 'debug info warning error'\n";
}

std::string manual_page(const CLI::App& root) {
  std::string out = fmt::format(
      ".TH DYNO 1 \"\" \"dynolog {}\" \"User Commands\"\n"
      ".SH NAME\ndyno \\- trace PyTorch processes and ask the dynolog daemon\n"
      ".SH SYNOPSIS\n\\fBdyno\\fR [\\fIGLOBAL OPTIONS\\fR] \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n{}\n.SH GLOBAL OPTIONS\n",
      kVersion, roff(root.get_description()));
  for (const CLI::Option* option : options_of(root)) out += roff_option(*option);
  out += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(root)) out += roff_command(*command, "");
  out += fmt::format(".SH FILES AND ENVIRONMENT\n.nf\n{}\n.fi\n", roff(root.get_footer()));
  return out;
}

}  // namespace dynolog
