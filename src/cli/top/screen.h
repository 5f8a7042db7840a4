// A snapshot as lines of a terminal: pure, so that a test reads what a person sees.
#pragma once

#include <string>
#include <vector>

#include "cli/top/snapshot.h"
#include "cli/top/view.h"

namespace dynolog::top {

enum class Style : std::uint8_t { plain, dim, strong, good, warning, bad, heading };

struct Span {
  std::string text;
  Style style = Style::plain;
};
using Line = std::vector<Span>;

struct ScreenSize {
  int rows = 24;  // 0: as many as there are
  int columns = 80;
};

// `problem`: why the newest figures could not be had; "" when they could.
[[nodiscard]] std::vector<Line> draw(const Snapshot& snapshot, const View& view,
                                     const ScreenSize& size, const std::string& problem);

// Without styles: one snapshot for a pipe or a file.
[[nodiscard]] std::string as_text(const std::vector<Line>& lines);

}  // namespace dynolog::top
