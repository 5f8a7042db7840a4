// Reading KEY=VALUE.
#include "profiling/config_lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dynolog {

Result<std::optional<ConfigLine>> read_config_line(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.empty() || text.starts_with('#')) return std::nullopt;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorKind::invalid, fmt::format("\"{}\" is not KEY=VALUE", clean_text(text, 80)));
  }
  return ConfigLine{.key = trim(text.substr(0, equals)), .value = trim(text.substr(equals + 1))};
}

std::vector<ConfigLine> config_lines(std::string_view config) {
  std::vector<ConfigLine> lines;
  for (const std::string_view line : split(config, '\n')) {
    if (const auto read = read_config_line(line); read && *read) lines.push_back(**read);
  }
  return lines;
}

}  // namespace dynolog
