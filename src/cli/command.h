// One command of dyno: declares its options, then runs.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "cli/exit_code.h"
#include "cli/global_options.h"
#include "cli/world.h"

namespace CLI {
class App;
}

namespace dynolog {

class Command {
 public:
  virtual ~Command() = default;
  [[nodiscard]] virtual ExitCode run(const World& world, const GlobalOptions& global) = 0;
};

struct CommandEntry {
  std::string_view name;
  std::string_view alias;    // "" for none
  std::string_view summary;  // for lists; each command describes itself in its own words
  // Adds options, description and examples to `app`; the object must outlive the parsing.
  std::unique_ptr<Command> (*make)(CLI::App& app);
};

// Every command there is, in the order of `dyno help`.
[[nodiscard]] std::span<const CommandEntry> all_commands();

}  // namespace dynolog
