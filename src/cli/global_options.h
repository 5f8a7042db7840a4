// The options that every command takes, before or after its name.
#pragma once

#include <optional>
#include <string>

namespace dynolog {

struct GlobalOptions {
  std::optional<std::string> hostname = std::nullopt;
  std::optional<int> port = std::nullopt;
  std::optional<std::string> run_dir = std::nullopt;
  double timeout_s = 5;
  bool json = false;
  bool verbose = false;
};

}  // namespace dynolog
