// The first two numbers of a version.
#include "processes/torch_version.h"

#include <vector>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {

std::optional<TorchVersion> torch_version(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() < 2) return std::nullopt;
  const auto major = parse_number<int>(parts[0]);
  const auto minor = parse_number<int>(parts[1]);
  if (!major || !minor) return std::nullopt;
  return TorchVersion{*major, *minor};
}

}  // namespace dynolog
