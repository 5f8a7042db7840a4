// Columns of text, aligned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dynolog {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string name;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells);
  // Lines ended by '\n', the header first. Lines are cut to `width` characters; 0: never.
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// How many characters, not bytes: every code point counts as one.
[[nodiscard]] std::size_t characters(std::string_view text);
// At most `width` characters; a cut text ends in "...".
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);

}  // namespace dynolog
