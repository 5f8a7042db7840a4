// Which symbol versions a shared library defines: how the launcher knows whether a host's C library
// is new enough, without starting anything.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace dynolog {

// Whether `file`, the bytes of a shared library for this processor, defines symbols of `version`
// ("GLIBC_2.34"). False for anything else: damaged, truncated, of another processor. It reads
// within `file` only, and allocates nothing.
[[nodiscard]] bool defines_version(std::span<const std::byte> file, std::string_view version);

}  // namespace dynolog
