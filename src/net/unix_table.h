// A line of /proc/net/unix. Whoever binds a socket chooses the name in it, blanks included; one
// with a newline looks like lines of its own. So the table is for telling people, and decides
// nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/number.h"

namespace dynolog {

struct UnixTableLine {
  std::uint64_t inode = 0;
  std::string_view path;  // as shown: a NUL of an abstract name is an '@'; "" for an unbound socket
};

// nullopt for what is none: the table's head, or a piece.
[[nodiscard]] inline std::optional<UnixTableLine> parse_unix_table_line(std::string_view line) {
  // Num: RefCount Protocol Flags Type St Inode Path, the first seven without blanks in them.
  std::string_view word;
  for (int field = 0; field < 7; ++field) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
  }
  const auto inode = parse_number<std::uint64_t>(word);
  if (!inode) return std::nullopt;
  if (!line.empty()) line.remove_prefix(1);  // one blank; the name may begin with others
  return UnixTableLine{.inode = *inode, .path = line};
}

}  // namespace dynolog
