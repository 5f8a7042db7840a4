// Command lines that dyno proposes: they ask the same daemon when they are pasted.
#pragma once

#include <string>
#include <string_view>

#include "cli/global_options.h"

namespace dynolog {

// "dyno --run-dir /x gputrace --follow ID" for "gputrace --follow ID".
[[nodiscard]] std::string same_daemon(const GlobalOptions& global, std::string_view command);

// The text as one word of a POSIX shell; a plain one as it is.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace dynolog
