// Unpredictable bits, from the kernel.
#pragma once

#include <cstdint>
#include <string>

namespace dynolog {

[[nodiscard]] std::uint64_t random_u64();  // getrandom(2)
[[nodiscard]] std::string random_hex64();  // 16 hex digits

}  // namespace dynolog
