// Kineto's configuration text, line by line. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog {

// Both trimmed; they point into the text.
struct ConfigLine {
  std::string_view key;
  std::string_view value;
};

// nullopt for an empty line and for a comment. Errors (invalid): it is not KEY=VALUE.
[[nodiscard]] Result<std::optional<ConfigLine>> read_config_line(std::string_view line);

// Those of a text that say something, in their order: of a key that stands twice Kineto takes the
// last.
[[nodiscard]] std::vector<ConfigLine> config_lines(std::string_view config);

}  // namespace dynolog
