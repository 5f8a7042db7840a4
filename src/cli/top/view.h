// What somebody at `dyno top` has chosen: what is sorted, filtered, paused, and which moment is
// shown. Pure: keys in, choices out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dynolog::top {

enum class Key : std::uint8_t {
  other,
  left,
  right,
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  enter,
  escape,
  backspace,
};

enum class Panel : std::uint8_t { all, disks, links, processes };
enum class Sort : std::uint8_t { traffic, name, busy };

struct View {
  Panel panel = Panel::all;
  Sort sort = Sort::traffic;
  std::string filter{};    // rows whose text has it
  bool is_typing = false;  // the filter is being typed
  bool is_help = false;
  bool is_paused = false;
  bool is_over = false;
  std::size_t first_row = 0;            // of the panel that is shown alone
  std::optional<std::int64_t> at_ms{};  // a moment of the past; nullopt: now
};

// `letter`: the character that was typed, 0 for others. `now_ms` is the daemon's latest moment.
// True when another moment is to be asked for.
[[nodiscard]] bool press(View& view, Key key, char letter, std::int64_t now_ms);

}  // namespace dynolog::top
