// The terminal that `dyno top` draws on and reads keys from: ncurses, and nothing else of it.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "cli/top/screen.h"
#include "cli/top/view.h"

namespace dynolog::top {

struct Pressed {
  Key key = Key::other;
  char letter = 0;       // the character, of those that are one
  bool resized = false;  // no key: the terminal has another size now
};

// One at a time. The terminal is as it was again when this ends.
class Terminal {
 public:
  // An error says what is wrong with $TERM.
  [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
  virtual ~Terminal() = default;

  [[nodiscard]] virtual ScreenSize size() const = 0;
  virtual void show(const std::vector<Line>& lines) = 0;
  // What has been typed, without waiting; false: nothing more.
  [[nodiscard]] virtual bool next(Pressed& pressed) = 0;
};

}  // namespace dynolog::top
