// --help, --print_config and the documentation's tables.
#include "config/texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/option_table.h"
#include "config/options.h"

namespace dynolog {
namespace {

constexpr std::size_t kColumn = 32;
constexpr std::size_t kWidth = 98;

constexpr std::string_view kHelpHead =
    R"(dynolog: watches this host and puts running PyTorch jobs into profiling mode on request.

Usage: dynolog [OPTION]...

Every option is a flag (--port=1778, --port 1778, --use_JSON, --nouse_JSON) and a key of the TOML
file (port = 1778). The command line wins over a flag file, a flag file over the TOML file.
)";

constexpr std::string_view kHelpTail = R"(
Examples:
  dynolog                                          run; jobs with KINETO_USE_DAEMON=1 can be traced
  dynolog --use_JSON --json_file=/tmp/host.jsonl   also write the host's figures as lines of JSON
  dynolog --run_dir=/tmp/mine --port=-1            a second one, beside the system's
  dynolog --kineto_socket_dir=/shared/kineto       for containers that share that directory
  dynolog --config=my.toml --check_config          is the file good?
  dynolog --print_config > my.toml                 a file to begin with

Talk to it with `dyno`: dyno status, dyno ps, dyno gputrace --log-file /tmp/trace.json
)";

std::string spelled(const OptionRow& row) {
  return row.value.empty() ? fmt::format("--{}", row.name)
                           : fmt::format("--{}={}", row.name, row.value);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

constexpr std::size_t kMaxShownDefault = 64;

// Defaults that a literal says; one that the mode decides is told in the help itself.
std::string default_of(const OptionRow& row) {
  if (row.show == nullptr) return {};
  const std::string literal = row.show(Options{});
  if (literal.size() > kMaxShownDefault) return "see --print_config";
  return literal == "\"\"" || literal == "[]" ? std::string() : literal;
}

std::string_view counts(const OptionRow& row) {
  switch (row.reload) {
    case Reload::at_once:
      return "at a reload";
    case Reload::next_start:
      return "at a restart";
    case Reload::unsaid:
      break;
  }
  return "";
}

// In a table's cell: a bar would end it.
std::string code_cell(std::string_view literal) {
  std::string cell = "`";
  for (const char letter : literal) {
    if (letter == '|') cell += '\\';
    cell += letter;
  }
  return cell + "`";
}

std::string help_of(const OptionRow& row) {
  const std::string literal = default_of(row);
  return literal.empty() ? std::string(row.help)
                         : fmt::format("{} (default: {})", row.help, literal);
}

void append_row(std::string& text, const OptionRow& row) {
  const std::string name = "  " + spelled(row);
  const bool fits = name.size() + 2 <= kColumn;
  text += fits ? fmt::format("{:<{}}", name, kColumn) : name + "\n";
  bool first = fits;
  for (const std::string& line : wrapped(help_of(row), kWidth - kColumn)) {
    text += first ? line : std::string(kColumn, ' ') + line;
    text += '\n';
    first = false;
  }
}

}  // namespace

std::string help_text() {
  std::string text(kHelpHead);
  std::string_view group;
  for (const OptionRow& row : option_rows()) {
    if (row.group != group) {
      group = row.group;
      text += fmt::format("\n{}:\n", group);
    }
    append_row(text, row);
  }
  return text + std::string(kHelpTail);
}

std::string options_markdown() {
  std::string text;
  std::string_view group;
  for (const OptionRow& row : option_rows()) {
    if (row.group != group) {
      group = row.group;
      text += fmt::format(
          "\n### {}\n\n| option | default | a change counts | what it does |\n"
          "| --- | --- | --- | --- |\n",
          group);
    }
    const std::string literal = default_of(row);
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", spelled(row),
                    literal.empty() ? std::string() : code_cell(literal), counts(row), row.help);
  }
  text += "\n### Flags of existing deployments\n\n";
  text += "Accepted so that an existing flag file works; each has no effect here yet.\n\n";
  text += "| flags | because this version has no |\n| --- | --- |\n";
  std::map<std::string_view, std::vector<std::string>> features;
  for (const FieldFlag& flag : field_flags()) {
    features[flag.feature].push_back(
        fmt::format("`--{}`{}", flag.name, flag.refused ? " (refused)" : ""));
  }
  for (const auto& [feature, names] : features) {
    text += fmt::format("| {} | {} |\n", fmt::join(names, " "), feature);
  }
  return text;
}

std::string print_config(const Options& options) {
  std::string text = "# The options in effect; dynolog --config=FILE reads them back.\n";
  std::string_view group;
  for (const OptionRow& row : option_rows()) {
    if (row.show == nullptr) continue;
    if (row.group != group) {
      group = row.group;
      text += fmt::format("\n# {}\n", group);
    }
    const std::string literal = row.show(options);
    text += literal.empty() ? fmt::format("# {} is not set\n", row.name)
                            : fmt::format("{} = {}\n", row.name, literal);
  }
  return text;
}

}  // namespace dynolog
