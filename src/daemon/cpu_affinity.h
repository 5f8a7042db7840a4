// Keeping the daemon off the CPUs of jobs: --cpu_list.
#pragma once

#include <string_view>

#include "base/error.h"

namespace dynolog {

// The calling thread, and every thread and child process that begins afterwards, run on these CPUs
// only. An error says which CPUs the host has; "" changes nothing.
[[nodiscard]] Status keep_to_cpus(std::string_view list);

}  // namespace dynolog
