// Text that a shell reads: quoting, and the variables of `dyno env`.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

enum class Shell { posix, fish, csh };

// One word that the shell takes literally. `text` holds no control characters.
[[nodiscard]] std::string shell_quoted(std::string_view text, Shell shell);
// "export NAME='VALUE'", ended as the shell wants it.
[[nodiscard]] std::string shell_export(std::string_view name, std::string_view value, Shell shell);

// Kineto binds a socket of its own in the directory: at most 54 bytes, else the process is never
// seen. Also refused: relative paths and control characters.
[[nodiscard]] Status check_socket_directory(std::string_view directory);

}  // namespace dynolog
