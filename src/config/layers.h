// The three sources of options, each read into a layer of assignments that has not been applied
// yet.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/option_table.h"

namespace dynolog {

struct Assignment {
  KnownOption option;
  Values values;      // one, or a list's items
  std::string where;  // "--port", "/etc/dynolog.gflags:3: --port", "/x.toml:2: port"
};
using Layer = std::vector<Assignment>;

inline constexpr std::size_t kMaxConfigFile = 256U << 10U;

// The grammar of gflags. `where_prefix` goes before each option in messages: "" or "FILE:LINE: ".
[[nodiscard]] Result<Layer> read_arguments(std::span<const std::string> arguments,
                                           std::string_view where_prefix);

// One flag a line. Nested --flagfile lines stay assignments for the caller to follow.
[[nodiscard]] Result<Layer> read_flagfile(std::string_view text, std::string_view path);

// Flat keys with the names of the flags.
[[nodiscard]] Result<Layer> read_toml(std::string_view text, std::string_view path);

// OpenTelemetry's variables, as assignments to options of the same meaning. Errors name the
// variable: one that asks for what is not spoken here is not passed over.
[[nodiscard]] Result<Layer> read_environment(const std::map<std::string, std::string>& variables);

struct Applied {
  Options options;
  GivenOptions given;
  std::vector<std::string> warnings;
};
// Later layers win, option by option; then the options are checked against each other.
[[nodiscard]] Result<Applied> apply_layers(const std::vector<Layer>& layers);

}  // namespace dynolog
