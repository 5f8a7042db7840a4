// Single quotes everywhere; what each shell still reads inside them is escaped.
#include "cli/shell_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kLongestDirectory = 54;

}  // namespace

std::string shell_quoted(std::string_view text, Shell shell) {
  std::string out = "'";
  for (const char c : text) {
    if (shell == Shell::fish && (c == '\'' || c == '\\')) {
      out += '\\';
      out += c;
    } else if (c == '\'') {
      out += "'\\''";
    } else if (shell == Shell::csh && c == '!') {
      out += "\\!";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shell_export(std::string_view name, std::string_view value, Shell shell) {
  const std::string quoted = shell_quoted(value, shell);
  switch (shell) {
    case Shell::fish:
      return fmt::format("set -gx {} {};\n", name, quoted);
    case Shell::csh:
      return fmt::format("setenv {} {};\n", name, quoted);
    case Shell::posix:
      break;
  }
  // A plain word is left plain, as people write it.
  const bool plain = !value.empty() && std::ranges::all_of(value, is_alnum);
  return fmt::format("export {}={}\n", name, plain ? std::string(value) : quoted);
}

Status check_socket_directory(std::string_view directory) {
  const std::string shown = clean_text(directory, 200);
  if (!directory.starts_with('/')) {
    return fail(ErrorKind::invalid, "the daemon names no absolute directory: " + shown);
  }
  if (shown != directory) {
    return fail(ErrorKind::invalid,
                "the daemon names a directory that no shell should see: " + shown);
  }
  if (directory.size() > kLongestDirectory) {
    return fail(ErrorKind::invalid,
                fmt::format("the daemon's directory {} has {} bytes, PyTorch takes at most {}: "
                            "start the daemon with a shorter --run_dir",
                            shown, directory.size(), kLongestDirectory));
  }
  return {};
}

}  // namespace dynolog
