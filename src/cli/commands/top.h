// dyno top; the other commands' makers stand in commands.h.
#pragma once

#include "cli/command.h"

namespace dynolog::commands {

[[nodiscard]] std::unique_ptr<Command> make_top(CLI::App& app);

}  // namespace dynolog::commands
