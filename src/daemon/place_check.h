// What --check_config sees of files and directories, without making any.
#pragma once

#include <string>
#include <vector>

#include "config/options.h"

namespace dynolog {

// What a start would go without, as far as can be seen; sentences.
[[nodiscard]] std::vector<std::string> what_is_missing(const CommandLine& command);

}  // namespace dynolog
