// The TOML file: flat keys, the names and the checks of the flags.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/layers.h"
#include "config/toml_nesting.h"
#include "config/values.h"

namespace dynolog {
namespace {

std::optional<Values> list_of(const toml::array& array) {
  Values values;
  for (const toml::node& item : array) {
    const auto text = item.value_exact<std::string>();
    if (!text) return std::nullopt;
    values.push_back(*text);
  }
  // An empty array and `--list=` mean the same.
  if (values.empty()) values.emplace_back();
  return values;
}

// Strict on types: `port = "1778"` is refused, so that a file means to others what it means here.
Result<Values> values_of(const KnownOption& option, const toml::node& node) {
  // What existing flags of other kinds were is not known: any scalar does.
  const bool lax = option.field != nullptr;
  if (const auto* flag = node.as_boolean(); flag != nullptr && option.kind == ValueKind::flag) {
    return Values{flag->get() ? "true" : "false"};
  }
  if (const auto* number = node.as_integer();
      number != nullptr && (option.kind == ValueKind::integer || lax)) {
    return Values{std::to_string(number->get())};
  }
  if (const auto* text = node.as_string();
      text != nullptr && (option.kind == ValueKind::text || option.kind == ValueKind::list)) {
    return Values{text->get()};
  }
  if (const auto* array = node.as_array(); array != nullptr && option.kind == ValueKind::list) {
    if (auto values = list_of(*array)) return std::move(*values);
  }
  switch (option.kind) {
    case ValueKind::flag:
      return fail(ErrorKind::invalid, "must be true or false");
    case ValueKind::integer:
      return fail(ErrorKind::invalid, "must be a whole number, without quotes");
    case ValueKind::text:
      return fail(ErrorKind::invalid, "must be a string in quotes");
    case ValueKind::list:
      return fail(ErrorKind::invalid, "must be an array of strings in quotes");
  }
  return fail(ErrorKind::invalid, "has the wrong type");
}

// The mistake that people make: `run_dir = /run/x`, of which the library would only say which byte
// it did not expect. "" for any other.
std::string advice_on(std::string_view line) {
  constexpr std::size_t kMaxShown = 100;
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return "";
  const auto option = find_option(trim(line.substr(0, equals)));
  std::string_view value = trim(line.substr(equals + 1));
  value = trim(value.substr(0, value.find(" #")));
  if (!option || value.empty() || std::string_view("\"'[{#").contains(value.front())) return "";
  const std::string shown = clean_text(value, kMaxShown);
  const std::string given = fmt::format("{} = {}", option->name, shown);
  switch (option->kind) {
    case ValueKind::flag:
      if (value == "true" || value == "false") return "";
      return fmt::format("{}: must be true or false", given);
    case ValueKind::text:
      return fmt::format("{}: put the text in quotes: {} = {}", given, option->name,
                         toml_text(shown));
    case ValueKind::list: {
      std::vector<std::string> items;
      for (const std::string_view item : split(shown, ',')) {
        items.emplace_back(trim(item));
      }
      return fmt::format("{}: put each text in quotes: {} = {}", given, option->name,
                         toml_list(items));
    }
    case ValueKind::integer:
      return "";
  }
  return "";
}

std::string problem_of(const toml::parse_error& error, std::string_view text) {
  const auto lines = split(text, '\n');
  const std::size_t number = error.source().begin.line;
  std::string advice =
      number >= 1 && number <= lines.size() ? advice_on(lines[number - 1]) : std::string();
  return advice.empty() ? clean_text(error.description(), 200) : advice;
}

Result<Assignment> assignment_of(std::string_view key, const toml::node& node,
                                 std::string_view where) {
  const auto option = find_option(key);
  if (node.is_table()) {
    return fail(ErrorKind::invalid,
                fmt::format("{}[{}] is a table; keys are flat, as the flags are", where,
                            clean_text(key, 64)));
  }
  if (!option) return fail(ErrorKind::invalid, std::string(where) + unknown_option(key, ""));
  if (option->row != nullptr && option->row->assign == nullptr) {
    return fail(ErrorKind::invalid,
                fmt::format("{}{} is for the command line only", where, option->name));
  }
  auto values = values_of(*option, node);
  if (!values) {
    return fail(ErrorKind::invalid,
                fmt::format("{}{}: {}", where, option->name, values.error().message));
  }
  return Assignment{*option, std::move(*values), fmt::format("{}{}", where, option->name)};
}

}  // namespace

Result<Layer> read_toml(std::string_view text, std::string_view path) {
  const std::string shown = clean_text(path, 200);
  const auto where = [&shown](const toml::source_region& source) {
    return fmt::format("{}:{}: ", shown, source.begin.line);
  };
  if (const auto line = line_nested_too_deep(text)) {
    return fail(ErrorKind::invalid,
                fmt::format("{}:{}: brackets and dotted keys are nested more than {} deep; options "
                            "are flat, as the flags are",
                            shown, *line, kMaxTomlNesting));
  }
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return fail(ErrorKind::invalid, where(error.source()) + problem_of(error, text));
  } catch (const std::exception& error) {
    return fail(ErrorKind::invalid, fmt::format("{}: {}", shown, clean_text(error.what(), 200)));
  }
  Layer layer;
  for (auto&& [key, node] : table) {
    auto assignment = assignment_of(key.str(), node, where(node.source()));
    if (!assignment) return std::unexpected(std::move(assignment.error()));
    for (const Assignment& earlier : layer) {
      if (earlier.option.name == assignment->option.name) {
        return fail(ErrorKind::invalid,
                    fmt::format("{}: is given twice, in two spellings", assignment->where));
      }
    }
    layer.push_back(std::move(*assignment));
  }
  return layer;
}

}  // namespace dynolog
