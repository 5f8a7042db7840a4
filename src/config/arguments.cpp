// gflags' grammar: --flag, -flag, --noflag, --flag=value, --flag value; and its flag files.
#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "config/layers.h"
#include "config/values.h"

namespace dynolog {
namespace {

struct Spelled {
  KnownOption option;
  bool negated = false;
  std::optional<std::string> value;
};

std::string_view without_dashes(std::string_view argument) {
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  return argument;
}

bool looks_like_option(std::string_view argument) {
  return argument.size() > 1 && argument.starts_with('-');
}

Result<Spelled> spelled(std::string_view argument) {
  const std::string_view body = without_dashes(argument);
  const std::size_t equals = body.find('=');
  std::string_view name = body.substr(0, equals);
  if (name == "h") name = "help";
  Spelled result;
  if (equals != std::string_view::npos) result.value = std::string(body.substr(equals + 1));
  if (const auto known = find_option(name)) {
    result.option = *known;
    return result;
  }
  for (const std::string_view prefix : {"no", "no_", "no-"}) {
    if (!name.starts_with(prefix)) continue;
    const auto known = find_option(name.substr(prefix.size()));
    if (!known || known->kind != ValueKind::flag) continue;
    if (result.value) {
      return fail(ErrorKind::invalid, fmt::format("--{} takes no value", clean_text(name, 64)));
    }
    result.option = *known;
    result.negated = true;
    return result;
  }
  return fail(ErrorKind::invalid, unknown_option(name, "--"));
}

Result<Values> values_of(const Spelled& flag, std::string_view where) {
  if (flag.option.kind == ValueKind::flag) {
    if (flag.negated) return Values{"false"};
    const auto value = parse_bool(flag.value.value_or("true"));
    if (!value) {
      return fail(ErrorKind::invalid, fmt::format("{}={}: must be true or false", where,
                                                  clean_text(flag.value.value_or(""), 64)));
    }
    return Values{*value ? "true" : "false"};
  }
  if (flag.option.kind != ValueKind::list) return Values{*flag.value};
  Values items;
  for (const std::string_view item : split(*flag.value, ',')) items.emplace_back(trim(item));
  return items;
}

std::string unexpected_argument(const std::string& argument, const Layer& before) {
  const std::string shown = clean_text(argument, 64);
  if (!before.empty() && before.back().option.kind == ValueKind::flag && parse_bool(argument)) {
    return fmt::format("unexpected argument {1}; write --{0}={1}", before.back().option.name,
                       shown);
  }
  return fmt::format("unexpected argument {}; options begin with --", shown);
}

// --no_tcp is another spelling of --port=-1, so that the later of the two wins.
void add(Layer& layer, Assignment assignment) {
  if (assignment.option.name == "no_tcp") {
    if (assignment.values.back() == "false") return;
    assignment.option = *find_option("port");
    assignment.values = {"-1"};
  }
  layer.push_back(std::move(assignment));
}

Result<std::string> value_from_next(std::span<const std::string> arguments, std::size_t& at,
                                    const KnownOption& option) {
  const std::string* next = at + 1 < arguments.size() ? &arguments[at + 1] : nullptr;
  // "-1" is a value; "--run_dir" after an option that needs one is a value that was left out.
  if (next == nullptr || (next->starts_with("--") && spelled(*next))) {
    return fail(ErrorKind::invalid, fmt::format("--{} needs a value", option.name));
  }
  ++at;
  return *next;
}

}  // namespace

Result<Layer> read_arguments(std::span<const std::string> arguments,
                             std::string_view where_prefix) {
  Layer layer;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (!looks_like_option(argument) || argument == "--") {
      return fail(ErrorKind::invalid,
                  fmt::format("{}{}", where_prefix, unexpected_argument(argument, layer)));
    }
    auto flag = spelled(argument);
    if (!flag) return fail(ErrorKind::invalid, std::string(where_prefix) + flag.error().message);
    if (!flag->value && flag->option.kind != ValueKind::flag) {
      auto value = value_from_next(arguments, at, flag->option);
      if (!value)
        return fail(ErrorKind::invalid, std::string(where_prefix) + value.error().message);
      flag->value = std::move(*value);
    }
    std::string where = fmt::format("{}--{}", where_prefix, flag->option.name);
    auto values = values_of(*flag, where);
    if (!values) return std::unexpected(std::move(values.error()));
    add(layer, {flag->option, std::move(*values), std::move(where)});
  }
  return layer;
}

Result<Layer> read_flagfile(std::string_view text, std::string_view path) {
  Layer layer;
  std::size_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string where = fmt::format("{}:{}: ", clean_text(path, 200), number);
    if (!looks_like_option(line)) {
      return fail(ErrorKind::invalid,
                  fmt::format("{}{} is no flag; a line is --flag=value, or a # comment", where,
                              clean_text(line, 64)));
    }
    // gflags wants the '=' here; a blank is what people write.
    std::vector<std::string> arguments;
    const std::size_t blank = line.find_first_of(" \t");
    const std::size_t equals = line.find('=');
    if (blank != std::string_view::npos && blank < equals) {
      arguments = {std::string(line.substr(0, blank)), std::string(trim(line.substr(blank)))};
    } else {
      arguments = {std::string(line)};
    }
    auto flags = read_arguments(arguments, where);
    if (!flags) return std::unexpected(std::move(flags.error()));
    for (Assignment& flag : *flags) layer.push_back(std::move(flag));
  }
  return layer;
}

}  // namespace dynolog
