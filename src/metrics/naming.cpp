// Expanding name patterns.
#include "metrics/naming.h"

namespace dynolog {

std::string_view label_value(const Series& series, std::string_view key) {
  for (std::size_t i = 0; i < series.label_values.size(); ++i) {
    if (series.descriptor->labels[i].key == key) return series.label_values[i];
  }
  return {};
}

std::string expand_name(std::string_view pattern, const Series& series) {
  std::string name;
  while (!pattern.empty()) {
    const std::size_t open = pattern.find('{');
    const std::size_t close = pattern.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    name += pattern.substr(0, open);
    name += label_value(series, pattern.substr(open + 1, close - open - 1));
    pattern.remove_prefix(close + 1);
  }
  name += pattern;
  return name;
}

}  // namespace dynolog
