// Where the parts of a portable installation lie below its prefix (docs/install.md, "The tarball"):
// launchers in bin/, the programs that they start, and a C library for hosts whose own is too old.
#pragma once

#include <string>
#include <string_view>

namespace dynolog {

inline constexpr std::string_view kPortablePrograms = "/lib/dynolog/programs";
inline constexpr std::string_view kPortableLibc = "/lib/dynolog/glibc";

// The launcher PREFIX/bin/NAME, where `executable` (what /proc/self/exe shows) is a program of a
// portable installation, or the loader that runs one; "" elsewhere. Pure: nothing is looked up.
[[nodiscard]] std::string portable_launcher(std::string_view executable, std::string_view name);

// Whether `executable` is the loader of a portable installation: started again as it stands, it
// would take the arguments for its own.
[[nodiscard]] bool is_portable_loader(std::string_view executable);

}  // namespace dynolog
