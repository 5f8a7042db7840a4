// os-release.
#include "kernel/os_release.h"

#include "base/number.h"
#include "base/text.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

std::string unquoted(std::string_view raw) {
  const bool is_quoted =
      raw.size() >= 2 && (raw.front() == '"' || raw.front() == '\'') && raw.back() == raw.front();
  if (!is_quoted) return std::string(raw);
  const bool has_escapes = raw.front() == '"';
  raw = raw.substr(1, raw.size() - 2);
  std::string value;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (has_escapes && raw[i] == '\\' && i + 1 < raw.size()) ++i;
    value += raw[i];
  }
  return value;
}

}  // namespace

std::string os_release_value(std::string_view text, std::string_view key) {
  std::string_view line;
  while (take_line(text, line)) {
    line = trim(line);
    if (line.starts_with(key) && line.substr(key.size()).starts_with('=')) {
      return unquoted(line.substr(key.size() + 1));
    }
  }
  return {};
}

std::optional<double> os_version_number(std::string_view version_id) {
  constexpr std::string_view kDigits = "0123456789";
  std::size_t end = version_id.find_first_not_of(kDigits);
  if (end == 0) return std::nullopt;
  if (end != std::string_view::npos && version_id[end] == '.') {
    end = version_id.find_first_not_of(kDigits, end + 1);
  }
  version_id = version_id.substr(0, end);
  if (version_id.ends_with('.')) version_id.remove_suffix(1);
  return parse_number<double>(version_id);
}

}  // namespace dynolog
