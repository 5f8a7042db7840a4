// PyTorch's version as far as its Kineto's behaviour depends on it.
#pragma once

#include <compare>
#include <optional>
#include <string_view>

namespace dynolog {

struct TorchVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const TorchVersion&) const = default;
};

// "2.13.0+cpu" is 2.13; nullopt for what does not begin with two numbers.
[[nodiscard]] std::optional<TorchVersion> torch_version(std::string_view text);

}  // namespace dynolog
