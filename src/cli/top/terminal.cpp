// ncurses. Colours where there are any; without, bold and underlined say it too.
#include "cli/top/terminal.h"

#include <ncurses.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace dynolog::top {
namespace {

struct Look {
  Style style;
  short colour;
  attr_t without;  // where there are no colours
};
constexpr std::array kLooks = {
    Look{Style::dim, -1, A_DIM},         Look{Style::strong, -1, A_BOLD},
    Look{Style::good, COLOR_GREEN, 0},   Look{Style::warning, COLOR_YELLOW, A_BOLD},
    Look{Style::bad, COLOR_RED, A_BOLD}, Look{Style::heading, COLOR_CYAN, A_UNDERLINE}};

Key key_of(int code) {
  switch (code) {
    case KEY_LEFT:
      return Key::left;
    case KEY_RIGHT:
      return Key::right;
    case KEY_UP:
      return Key::up;
    case KEY_DOWN:
      return Key::down;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
      return Key::page_down;
    case KEY_HOME:
      return Key::home;
    case KEY_END:
      return Key::end;
    case KEY_ENTER:
    case '\n':
    case '\r':
      return Key::enter;
    case 27:
      return Key::escape;
    case KEY_BACKSPACE:
    case 127:
    case '\b':
      return Key::backspace;
    default:
      return Key::other;
  }
}

class CursesTerminal final : public Terminal {
 public:
  explicit CursesTerminal(SCREEN* screen) : screen_(screen) {
    ::set_term(screen_);
    ::cbreak();
    ::noecho();
    ::keypad(stdscr, TRUE);
    ::nodelay(stdscr, TRUE);
    ::curs_set(0);
    coloured_ = ::has_colors() && ::start_color() == OK && ::use_default_colors() == OK;
    for (const Look& look : kLooks) {
      if (coloured_) ::init_pair(pair_of(look), look.colour, -1);
    }
  }
  CursesTerminal(const CursesTerminal&) = delete;
  CursesTerminal& operator=(const CursesTerminal&) = delete;
  ~CursesTerminal() override {
    ::endwin();
    ::delscreen(screen_);
  }

  [[nodiscard]] ScreenSize size() const override { return {LINES, COLS}; }

  void show(const std::vector<Line>& lines) override {
    ::erase();
    int row = 0;
    for (const Line& line : lines) {
      if (row >= LINES) break;
      ::move(row++, 0);
      for (const Span& span : line) {
        const attr_t look = look_of(span.style);
        ::attron(static_cast<int>(look));
        ::addstr(span.text.c_str());
        ::attroff(static_cast<int>(look));
      }
    }
    ::refresh();
  }

  [[nodiscard]] bool next(Pressed& pressed) override {
    const int code = ::getch();
    if (code == ERR) return false;
    pressed = {.key = key_of(code),
               .letter = code > 0 && code < 127 ? static_cast<char>(code) : '\0',
               .resized = code == KEY_RESIZE};
    return true;
  }

 private:
  static short pair_of(const Look& look) { return static_cast<short>(&look - kLooks.data() + 1); }

  [[nodiscard]] attr_t look_of(Style style) const {
    const auto* const found = std::ranges::find(kLooks, style, &Look::style);
    if (found == kLooks.end()) return A_NORMAL;
    if (!coloured_ || found->colour < 0) return found->without;
    return static_cast<attr_t>(COLOR_PAIR(pair_of(*found)));
  }

  SCREEN* screen_;
  bool coloured_ = false;
};

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
  std::setlocale(LC_CTYPE, "");
  // Escape is a key by itself soon enough, over ssh too.
  ::set_escdelay(100);
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* term = std::getenv("TERM");
    return fail(ErrorKind::unavailable,
                std::string("this terminal (TERM=") + (term == nullptr ? "" : term) +
                    ") is not known here: try TERM=xterm, or `dyno top --once`");
  }
  return std::make_unique<CursesTerminal>(screen);
}

}  // namespace dynolog::top
