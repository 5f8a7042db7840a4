// The options that say which daemon is asked, as they were given.
#include "cli/hint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "cli/shell_text.h"

namespace dynolog {

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alnum(c) || std::string_view("/._-+:@%,").contains(c);
  });
  return plain ? std::string(text) : shell_quoted(text, Shell::posix);
}

std::string same_daemon(const GlobalOptions& global, std::string_view command) {
  std::string text = "dyno";
  if (global.run_dir) text += " --run-dir " + shell_word(*global.run_dir);
  if (global.hostname) text += " --hostname " + shell_word(*global.hostname);
  if (global.port) text += fmt::format(" --port {}", *global.port);
  return fmt::format("{} {}", text, command);
}

}  // namespace dynolog
