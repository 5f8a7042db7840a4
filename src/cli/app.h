// The command line: parsing, help, finding the command, running it.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/world.h"

namespace dynolog {

// `arguments` without the program's name.
[[nodiscard]] ExitCode run_dyno(const World& world, std::vector<std::string> arguments);

}  // namespace dynolog
