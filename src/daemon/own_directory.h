// Directories that belong to the daemon alone.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// Makes `path` with `mode` where it is missing, its parents too, and opens it without following a
// link at its end. Refuses (denied) one that another user owns or may write to; the error names
// `option`, with which another can be chosen.
[[nodiscard]] Result<UniqueFd> open_own_directory(const std::string& path, mode_t mode,
                                                  std::string_view option);

// Whether that would succeed, as far as can be seen without making anything.
[[nodiscard]] Status see_own_directory(const std::string& path, std::string_view option);

// The path itself where it is there, else the nearest of those above it that is.
[[nodiscard]] std::string nearest_existing(const std::string& path);

// "/var/lib/dynolog" for root; else dynolog/HOST below $XDG_STATE_HOME or ~/.local/state: a home
// directory may be that of many hosts. "" where neither variable is an absolute path.
[[nodiscard]] std::string default_state_directory(bool system_mode, const std::string& host,
                                                  const std::string& xdg_state_home,
                                                  const std::string& home);

}  // namespace dynolog
