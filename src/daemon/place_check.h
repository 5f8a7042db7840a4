// What --check_config sees of files and directories, without making any.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/options.h"

namespace dynolog {

// Where a start puts what no option places.
struct DefaultPlaces {
  std::string run_dir;
  std::string state_dir;  // "": nowhere
};

// An error where a start would end, for the user who asks: the run directory cannot be had. That
// another daemon has it is none.
[[nodiscard]] Status check_run_directory(const CommandLine& command, const DefaultPlaces& defaults);

// What a start would go without, as far as can be seen; sentences.
[[nodiscard]] std::vector<std::string> what_is_missing(const CommandLine& command,
                                                       const DefaultPlaces& defaults);

}  // namespace dynolog
