// What a start knows of options beyond config/: names of collectors, and this host's CPUs.
// --check_config and a reload ask the same, so that what is good there does not end a start.
#pragma once

#include "base/error.h"
#include "config/options.h"

namespace dynolog {

// An error of kind invalid says where the option stands, as the parser's errors do.
[[nodiscard]] Status check_host_options(const CommandLine& command);

// This process keeps to the CPUs of --cpu_list from now on. Errors as above.
[[nodiscard]] Status take_host_options(const CommandLine& command);

}  // namespace dynolog
