// What a query names: a metric, and conditions on labels, written as Prometheus writes them:
//   cpu.time   node_cpu_seconds_total{mode="idle",cpu!="0"}   disk.io_time{device=~"sd.*|nvme.*"}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog::history {

// Of regular expressions what can be matched in a time that grows with the text alone: characters,
// `.`, `.*`, `.+`, a backslash before any of these, and alternatives with `|`. The whole text has
// to match.
class TextPattern {
 public:
  [[nodiscard]] static Result<TextPattern> compile(std::string_view expression);
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  enum class Kind : std::uint8_t { letter, any, many };
  struct Token {
    Kind kind = Kind::letter;
    char letter = 0;
  };
  using Alternative = std::vector<Token>;
  [[nodiscard]] static bool matches(const Alternative& pattern, std::string_view text);
  std::vector<Alternative> alternatives_;
};

struct LabelCondition {
  std::string key;
  bool wanted = true;  // false: != or !~
  bool is_pattern = false;
  std::string value;    // what has to be equal, or the pattern's text
  TextPattern pattern;  // with is_pattern

  [[nodiscard]] bool holds(std::string_view label) const {
    return (is_pattern ? pattern.matches(label) : label == value) == wanted;
  }
};

struct Selector {
  std::string name;
  std::vector<LabelCondition> conditions;
};

inline constexpr std::size_t kMaxSelector = 4096;
inline constexpr std::size_t kMaxConditions = 32;

// Foreign text. Errors (invalid) say what is expected instead.
[[nodiscard]] Result<Selector> parse_selector(std::string_view text);

}  // namespace dynolog::history
