// A series' name and labels in one scheme.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/descriptor.h"
#include "metrics/series_table.h"

namespace dynolog {

// Does the pattern fold this label into the name ("{key}")?
[[nodiscard]] constexpr bool folds(std::string_view pattern, std::string_view key) {
  for (std::size_t at = pattern.find('{'); at != std::string_view::npos;
       at = pattern.find('{', at + 1)) {
    const std::string_view rest = pattern.substr(at + 1);
    if (rest.starts_with(key) && rest.substr(key.size()).starts_with('}')) return true;
  }
  return false;
}

// "" for a label that the series does not have.
[[nodiscard]] std::string_view label_value(const Series& series, std::string_view key);

// The pattern with each "{key}" replaced by the series' value.
[[nodiscard]] std::string expand_name(std::string_view pattern, const Series& series);

}  // namespace dynolog
