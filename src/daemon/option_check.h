// What --check_config knows beyond config/: names of collectors, this host's CPUs, and files. A
// start asks the same, so that what is good here does not end there.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/options.h"

namespace dynolog {

// An error of kind invalid when a start could not make the collectors; the message names the
// option.
[[nodiscard]] Status check_collector_options(const Options& options);

// What a start would go without, as far as can be seen without making anything; sentences.
[[nodiscard]] std::vector<std::string> what_is_missing(const Options& options);

}  // namespace dynolog
