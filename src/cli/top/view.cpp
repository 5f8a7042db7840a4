// What each key does.
#include "cli/top/view.h"

namespace dynolog::top {
namespace {

constexpr std::int64_t kStep = 10'000;
constexpr std::int64_t kLeap = 300'000;
constexpr std::size_t kPage = 10;
constexpr std::size_t kMostFilter = 64;

void type(View& view, Key key, char letter) {
  if (key == Key::enter) {
    view.is_typing = false;
  } else if (key == Key::escape) {
    view.is_typing = false;
    view.filter.clear();
  } else if (key == Key::backspace) {
    if (!view.filter.empty()) view.filter.pop_back();
  } else if (letter >= ' ' && letter <= '~' && view.filter.size() < kMostFilter) {
    view.filter += letter;
  }
  view.first_row = 0;
}

// Into the past, or back towards now, where it ends.
bool move(View& view, std::int64_t by_ms, std::int64_t now_ms) {
  const std::int64_t to = view.at_ms.value_or(now_ms) + by_ms;
  const bool was_now = !view.at_ms;
  view.at_ms = to >= now_ms ? std::nullopt : std::optional(to);
  return !(was_now && !view.at_ms);
}

void scroll(View& view, std::size_t rows, bool down) {
  if (down) {
    view.first_row += rows;
  } else {
    view.first_row -= view.first_row < rows ? view.first_row : rows;
  }
}

bool press_letter(View& view, char letter) {
  switch (letter) {
    case 'q':
      view.is_over = true;
      return false;
    case '?':
    case 'h':
      view.is_help = true;
      return false;
    case ' ':
      view.is_paused = !view.is_paused;
      return !view.is_paused;
    case '/':
      view.is_typing = true;
      return false;
    case 's':
      view.sort = static_cast<Sort>((static_cast<int>(view.sort) + 1) % 3);
      return false;
    case '1':
    case '2':
    case '3':
    case '4':
      view.panel = static_cast<Panel>(letter - '1');
      view.first_row = 0;
      return false;
    case '\t':
      view.panel = static_cast<Panel>((static_cast<int>(view.panel) + 1) % 4);
      view.first_row = 0;
      return false;
    case 'n':
      view.at_ms.reset();
      view.is_paused = false;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool press(View& view, Key key, char letter, std::int64_t now_ms) {
  if (view.is_typing) {
    type(view, key, letter);
    return false;
  }
  if (view.is_help) {
    view.is_help = false;
    view.is_over = letter == 'q' && view.is_over;
    return false;
  }
  switch (key) {
    case Key::left:
      return move(view, -kStep, now_ms);
    case Key::right:
      return move(view, kStep, now_ms);
    case Key::page_up:
      return move(view, -kLeap, now_ms);
    case Key::page_down:
      return move(view, kLeap, now_ms);
    case Key::end:
      return press_letter(view, 'n');
    case Key::up:
      scroll(view, 1, false);
      return false;
    case Key::down:
      scroll(view, 1, true);
      return false;
    case Key::home:
      view.first_row = 0;
      return false;
    case Key::escape:
      view.filter.clear();
      return false;
    default:
      return press_letter(view, letter);
  }
}

}  // namespace dynolog::top
