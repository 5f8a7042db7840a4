// argv, flag files and the TOML file together: what the program is to do, with which options.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "config/layers.h"
#include "config/options.h"
#include "config/texts.h"
#include "config/values.h"

namespace dynolog {
namespace {

constexpr int kMaxFlagfileDepth = 8;

const Assignment* last_of(const Layer& layer, std::string_view name) {
  const Assignment* found = nullptr;
  for (const Assignment& assignment : layer) {
    if (assignment.option.name == name) found = &assignment;
  }
  return found;
}

bool is_on(const Layer& layer, std::string_view name) {
  const Assignment* found = last_of(layer, name);
  return found != nullptr && found->values.back() == "true";
}

// An optional file that is not there is an empty one; so is `--config=`, which switches off the
// standard one.
Result<std::string> file_text(const std::string& path, bool required) {
  if (path.empty()) return std::string();
  auto text = read_file(path, kMaxConfigFile);
  if (text) return text;
  if (!required && text.error().kind == ErrorKind::not_found) return std::string();
  return fail(ErrorKind::invalid, text.error().message);
}

Status add_flagfile(Layer& layer, const std::string& path, bool required, int depth) {
  if (depth > kMaxFlagfileDepth) {
    return fail(ErrorKind::invalid, fmt::format("{}: flag files are nested more than {} deep",
                                                clean_text(path, 200), kMaxFlagfileDepth));
  }
  auto text = file_text(path, required);
  if (!text) return std::unexpected(std::move(text.error()));
  auto flags = read_flagfile(*text, path);
  if (!flags) return std::unexpected(std::move(flags.error()));
  for (Assignment& flag : *flags) {
    if (flag.option.name == "flagfile") {
      auto nested = add_flagfile(layer, flag.values.back(), true, depth + 1);
      if (!nested) return nested;
    } else if (flag.option.row != nullptr && flag.option.row->assign == nullptr &&
               flag.option.name != "config") {
      return fail(ErrorKind::invalid, fmt::format("{} is for the command line only", flag.where));
    } else {
      layer.push_back(std::move(flag));
    }
  }
  return {};
}

// The system's own files are not for a daemon that was started beside the system's.
bool wants_standard_files(const Layer& argv, const StandardFiles& standard) {
  const Assignment* run_dir = last_of(argv, "run_dir");
  return standard.system_mode && (run_dir == nullptr || run_dir->values.back() == standard.run_dir);
}

Result<Layer> flagfile_layer(const Layer& argv, const StandardFiles& standard) {
  Layer layer;
  bool named = false;
  for (const Assignment& assignment : argv) {
    if (assignment.option.name != "flagfile") continue;
    named = true;
    for (std::string_view path : split(assignment.values.back(), ',')) {
      const bool required = !path.starts_with('-');
      if (!required) path.remove_prefix(1);
      auto added = add_flagfile(layer, std::string(path), required, 0);
      if (!added) return std::unexpected(std::move(added.error()));
    }
  }
  if (!named && wants_standard_files(argv, standard)) {
    auto added = add_flagfile(layer, standard.flagfile, false, 0);
    if (!added) return std::unexpected(std::move(added.error()));
  }
  return layer;
}

Result<Layer> toml_layer(const Layer& argv, const Layer& flags, const StandardFiles& standard) {
  const Assignment* named = last_of(argv, "config");
  if (named == nullptr) named = last_of(flags, "config");
  if (named == nullptr && !wants_standard_files(argv, standard)) return Layer{};
  const std::string& path = named != nullptr ? named->values.back() : standard.config;
  auto text = file_text(path, named != nullptr);
  if (!text) return std::unexpected(std::move(text.error()));
  return read_toml(*text, path);
}

Result<CommandLine::Action> action_of(const Layer& argv) {
  using Action = CommandLine::Action;
  // --help and --version answer whatever else is there; the others exclude each other.
  if (is_on(argv, "help")) return Action::help;
  if (is_on(argv, "version")) return Action::version;
  if (last_of(argv, "worker") != nullptr) return Action::worker;
  constexpr std::array<std::pair<std::string_view, Action>, 3> kOthers{
      {{"check_config", Action::check_config},
       {"print_config", Action::print_config},
       {"list_metrics", Action::list_metrics}}};
  Action chosen = Action::run;
  for (const auto& [name, action] : kOthers) {
    if (!is_on(argv, name)) continue;
    if (chosen != Action::run) {
      return fail(ErrorKind::invalid,
                  "--check_config, --print_config and --list_metrics: choose one");
    }
    chosen = action;
  }
  if (is_on(argv, "json") && chosen != Action::list_metrics) {
    return fail(ErrorKind::invalid, "--json goes with --list_metrics; for metrics see --use_JSON");
  }
  return chosen;
}

// Of the sources, the last that says anything.
bool wants_otlp(const std::array<const Layer*, 3>& layers) {
  bool wanted = false;
  for (const Layer* layer : layers) {
    if (const Assignment* said = last_of(*layer, "use_otlp"))
      wanted = said->values.back() == "true";
  }
  return wanted;
}

bool is_otel_disabled(const std::map<std::string, std::string>& environment) {
  const auto disabled = environment.find("OTEL_SDK_DISABLED");
  return disabled != environment.end() && parse_bool(trim(disabled->second)) == true;
}

void disable_otlp(Applied& applied) {
  if (!applied.options.metrics.otlp.enabled) return;
  applied.options.metrics.otlp.enabled = false;
  applied.warnings.emplace_back("--use_otlp has no effect: OTEL_SDK_DISABLED is true");
}

Status fill_options(CommandLine& line, Layer argv, const StandardFiles& standard) {
  auto flags = flagfile_layer(argv, standard);
  if (!flags) return std::unexpected(std::move(flags.error()));
  auto file = toml_layer(argv, *flags, standard);
  if (!file) return std::unexpected(std::move(file.error()));
  std::vector<Layer> layers;
  if (wants_otlp({&*file, &*flags, &argv})) {
    auto environment = read_environment(standard.environment);
    if (!environment) return std::unexpected(std::move(environment.error()));
    layers.push_back(std::move(*environment));
  }
  for (Layer* layer : {&*file, &*flags, &argv}) layers.push_back(std::move(*layer));
  auto applied = apply_layers(layers);
  if (applied && is_otel_disabled(standard.environment)) disable_otlp(*applied);
  if (!applied) return std::unexpected(std::move(applied.error()));
  line.options = std::move(applied->options);
  line.warnings = std::move(applied->warnings);
  line.given = std::move(applied->given);
  return {};
}

}  // namespace

std::string CommandLine::as_given(std::string_view option) const {
  const auto found = given.find(option);
  return found == given.end() ? fmt::format("--{}", option) : found->second;
}

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const StandardFiles& standard) {
  auto argv = read_arguments(arguments, "");
  if (!argv) return std::unexpected(std::move(argv.error()));
  auto action = action_of(*argv);
  if (!action) return std::unexpected(std::move(action.error()));
  CommandLine line;
  line.action = *action;
  line.json = is_on(*argv, "json");
  switch (line.action) {
    case CommandLine::Action::help:
      line.text = help_text();
      return line;
    case CommandLine::Action::version:
    case CommandLine::Action::list_metrics:
      return line;
    case CommandLine::Action::worker:
      line.worker = last_of(*argv, "worker")->values.back();
      if (line.worker != "procs" && line.worker != "files" && line.worker != "mounts" &&
          line.worker != "resolve") {
        return fail(ErrorKind::invalid,
                    fmt::format("--worker={}: must be procs, files, mounts or resolve",
                                clean_text(line.worker, 64)));
      }
      return line;
    case CommandLine::Action::run:
    case CommandLine::Action::check_config:
    case CommandLine::Action::print_config:
      break;
  }
  auto filled = fill_options(line, std::move(*argv), standard);
  if (!filled) return std::unexpected(std::move(filled.error()));
  return line;
}

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments) {
  StandardFiles standard;
  standard.config = "/etc/dynolog/dynolog.toml";
  standard.flagfile = "/etc/dynolog.gflags";
  standard.run_dir = "/run/dynolog";
  standard.system_mode = ::geteuid() == 0;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("OTEL_") || equals == std::string_view::npos) continue;
    standard.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return parse_command_line(arguments, standard);
}

}  // namespace dynolog
