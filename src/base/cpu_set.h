// A set of CPUs as people and the kernel write it: "0-3,8".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog {

inline constexpr std::uint32_t kMaxCpus = 8192;  // as the largest kernels are built

// Sorted, each once, at least one. An error of kind invalid says what is wrong with the list.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_cpu_set(std::string_view text);

}  // namespace dynolog
