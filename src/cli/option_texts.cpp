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

std::vector<const CLI::App*> commands_of(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App*) { return true; });
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

std::string_view summary_of(std::string_view name) {
  for (const CommandEntry& entry : all_commands()) {
    if (entry.name == name || entry.alias == name) return entry.summary;
  }
  return "";
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

std::string roff_command(const CLI::App& command) {
  std::string out =
      fmt::format(".SS {}\n{}\n", roff(fmt::format("{}", fmt::join(names_of(command), ", "))),
                  roff(command.get_description()));
  for (const CLI::Option* option : options_of(command)) out += roff_option(*option);
  out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.get_footer()));
  return out;
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string cases;
  for (const CLI::App* command : commands_of(root)) {
    cases += fmt::format("    {}) words=\"{}\" ;;\n", fmt::join(names_of(*command), "|"),
                         long_words(*command));
  }
  return fmt::format(R"(# bash completion for dyno
_dyno() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local names="{}"
  local global="{}"
  local words="" command="" each
  case "$previous" in
    --log-file|--run-dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
    completion) COMPREPLY=($(compgen -W "bash zsh fish man" -- "$word")); return ;;
    --shell) COMPREPLY=($(compgen -W "bash zsh sh fish csh" -- "$word")); return ;;
    help) COMPREPLY=($(compgen -W "$names" -- "$word")); return ;;
  esac
  for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " $names " in *" $each "*) command="$each"; break ;; esac
  done
  case "$command" in
    "") words="$names" ;;
{}  esac
  COMPREPLY=($(compgen -W "$words $global" -- "$word"))
}}
complete -o default -F _dyno dyno
)",
                     all_names(root), long_words(root), cases);
}

std::string zsh_completion(const CLI::App& root) {
  std::string list;
  std::string cases;
  for (const CLI::App* command : commands_of(root)) {
    for (const std::string& name : names_of(*command)) {
      list += fmt::format("    {}\n",
                          shell_quoted(fmt::format("{}:{}", name, summary_of(name)), Shell::posix));
    }
    cases += fmt::format("    {}) choices=({}) ;;\n", fmt::join(names_of(*command), "|"),
                         long_words(*command));
  }
  return fmt::format(R"(#compdef dyno
_dyno() {{
  local -a names choices global
  names=(
{}  )
  global=({})
  local command="" each
  for each in "${{(@)words[2,CURRENT-1]}}"; do
    if (( ${{names[(I)$each:*]}} )); then command="$each"; break; fi
  done
  local previous="${{words[CURRENT-1]}}"
  case "$previous" in
    --log-file|--run-dir) _files; return ;;
    completion) compadd bash zsh fish man; return ;;
    --shell) compadd bash zsh sh fish csh; return ;;
  esac
  case "$command" in
    "") _describe command names ;;
{}  esac
  compadd -- $choices $global
}}
_dyno "$@"
)",
                     list, long_words(root), cases);
}

std::string fish_completion(const CLI::App& root) {
  std::string out = "# fish completion for dyno\ncomplete -c dyno -f\n";
  const auto options = [&out](const CLI::App& app, const std::string& condition) {
    for (const CLI::Option* option : options_of(app)) {
      for (const std::string& name : option->get_lnames()) {
        const bool file = name == "log-file" || name == "run-dir";
        out += fmt::format("complete -c dyno {}-l {}{} -d {}\n", condition, name,
                           takes_value(*option) ? (file ? " -r -F" : " -x") : "",
                           shell_quoted(option->get_description(), Shell::fish));
      }
    }
  };
  options(root, "");
  for (const CLI::App* command : commands_of(root)) {
    for (const std::string& name : names_of(*command)) {
      out += fmt::format("complete -c dyno -n __fish_use_subcommand -a {} -d {}\n", name,
                         shell_quoted(summary_of(name), Shell::fish));
    }
    options(*command, fmt::format("-n '__fish_seen_subcommand_from {}' ",
                                  fmt::join(names_of(*command), " ")));
  }
  return out +
         "complete -c dyno -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish man'\n";
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
  for (const CLI::App* command : commands_of(root)) out += roff_command(*command);
  out += fmt::format(".SH FILES AND ENVIRONMENT\n.nf\n{}\n.fi\n", roff(root.get_footer()));
  return out;
}

}  // namespace dynolog
