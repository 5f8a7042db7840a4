// The one table of options: it drives argv, the TOML file, --help, --print_config and the docs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/options.h"

namespace dynolog {

enum class ValueKind { flag, integer, text, list };
// When a changed value counts after SIGHUP. Every option has to say.
enum class Reload : std::uint8_t { unsaid, at_once, next_start };
using Values = std::vector<std::string>;

struct OptionRow {
  std::string_view group;
  std::string_view name;
  ValueKind kind = ValueKind::flag;
  std::string_view value;  // what --help shows after the '=': "N", "DIR"
  std::string_view help;
  // nullptr: an action of the command line, which a file cannot hold.
  Status (*assign)(Options&, const Values&) = nullptr;
  // As a TOML literal; "" when it is not set and has no literal that says so.
  std::string (*show)(const Options&) = nullptr;
  Reload reload = Reload::unsaid;
};

// A flag that deployments of existing daemons have, and that this version has no feature for.
struct FieldFlag {
  std::string_view name;
  ValueKind kind = ValueKind::flag;
  std::string_view feature;  // "this version has no <feature>"
  bool refused = false;      // switching it on is an error
};

// What a spelling means: one of the two.
struct KnownOption {
  std::string_view name;
  ValueKind kind = ValueKind::flag;
  const OptionRow* row = nullptr;
  const FieldFlag* field = nullptr;
};

[[nodiscard]] std::span<const OptionRow> option_rows();
[[nodiscard]] std::span<const FieldFlag> field_flags();

// By name; '-' is as good as '_', and case does not matter.
[[nodiscard]] std::optional<KnownOption> find_option(std::string_view spelling);

// "unknown option --prot; did you mean --port?"; `prefix` is "--", or "" for a key of a file.
[[nodiscard]] std::string unknown_option(std::string_view spelling, std::string_view prefix);

}  // namespace dynolog
