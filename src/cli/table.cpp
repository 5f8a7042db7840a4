// Widths come from the widest cell of each column.
#include "cli/table.h"

#include <algorithm>

namespace dynolog {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

}  // namespace

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string cut(std::string_view text, std::size_t width) {
  if (characters(text) <= width) return std::string(text);
  const std::size_t keep = width < 3 ? 0 : width - 3;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && seen++ == keep) break;
  }
  return std::string(text.substr(0, end)) + std::string(std::min<std::size_t>(3, width), '.');
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t width) const {
  std::vector<std::vector<std::string>> lines;
  lines.emplace_back();
  for (const Column& column : columns_) lines.front().push_back(column.name);
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], characters(cells[i]));
    }
  }
  std::string out;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - characters(cells[i]), ' ');
      line += columns_[i].align == Align::right ? padding + cells[i] : cells[i] + padding;
      if (i + 1 < cells.size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (width == 0 ? line : cut(line, width)) + "\n";
  }
  return out;
}

}  // namespace dynolog
