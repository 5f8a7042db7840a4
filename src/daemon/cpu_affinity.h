// Keeping the daemon off the CPUs of jobs: --cpu_list.
#pragma once

#include <string_view>

#include "base/error.h"

namespace dynolog {

// Whether this host has these CPUs; an error says which it has, but not which option it is about.
// "" is good.
[[nodiscard]] Status check_cpus(std::string_view list);

// The calling thread, and every thread and child process that begins afterwards, run on these CPUs
// only. "" changes nothing.
[[nodiscard]] Status keep_to_cpus(std::string_view list);

}  // namespace dynolog
