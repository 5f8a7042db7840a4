// One thing that was looked at, and what came of it, for a person to act on.
#pragma once

#include <string>
#include <string_view>

namespace dynolog {

enum class Level {
  ok,
  note,     // nothing is wrong, but good to know
  warning,  // works, with a risk or less well
  broken,   // does not work
};

[[nodiscard]] constexpr std::string_view to_string(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::note:
      return "note";
    case Level::warning:
      return "warning";
    case Level::broken:
      return "broken";
  }
  return "";
}

// Sentences without a full stop at their end.
struct Verdict {
  std::string check;  // what was looked at, in one word
  Level level = Level::ok;
  std::string what;
  std::string why;  // why it matters; "" with ok
  std::string fix;  // what to type or to change; "" with ok
};

}  // namespace dynolog
