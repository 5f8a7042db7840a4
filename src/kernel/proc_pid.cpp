// Parsers of /proc/<pid>/status, stat, cgroup and maps.
#include "kernel/proc_pid.h"

#include <array>
#include <optional>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  text.remove_prefix(begin);
  const std::size_t end = text.find_first_of(kBlanks);
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(word.size());
  return word;
}

// All words as numbers; false when one is not.
template <class T>
bool parse_list(std::string_view text, std::vector<T>& numbers) {
  while (true) {
    const std::string_view word = next_word(text);
    if (word.empty()) return true;
    const auto number = parse_number<T>(word);
    if (!number) return false;
    numbers.push_back(*number);
  }
}

bool parse_four(std::string_view text, std::uint32_t (&numbers)[4]) {
  std::vector<std::uint32_t> list;
  if (!parse_list(text, list) || list.size() != std::size(numbers)) return false;
  for (std::size_t i = 0; i < std::size(numbers); ++i) numbers[i] = list[i];
  return true;
}

bool parse_one(std::string_view text, std::int32_t& number) {
  const auto value = parse_number<std::int32_t>(trim(text));
  if (value) number = *value;
  return value.has_value();
}

// The lines without which a status is not one.
constexpr std::array<std::string_view, 6> kNeeded = {"Name", "State", "Pid", "PPid", "Uid", "Gid"};
using Seen = std::array<bool, kNeeded.size()>;

// False when the field is one of ours and malformed.
bool take_field(std::string_view key, std::string_view value, ProcPidStatus& status, Seen& seen) {
  for (std::size_t i = 0; i < kNeeded.size(); ++i) {
    if (key == kNeeded[i]) seen[i] = true;
  }
  if (key == "Name") {
    if (value.starts_with('\t')) value.remove_prefix(1);  // only the tab: blanks are the name's
    status.name = std::string(value);
    return true;
  }
  if (key == "State") {
    const std::string_view word = next_word(value);
    if (word.size() != 1) return false;
    status.state = word.front();
    return true;
  }
  if (key == "Pid") return parse_one(value, status.pid);
  if (key == "PPid") return parse_one(value, status.parent_pid);
  if (key == "Uid") return parse_four(value, status.uids);
  if (key == "Gid") return parse_four(value, status.gids);
  if (key == "Groups") return parse_list(value, status.groups);
  if (key == "NSpid") return parse_list(value, status.namespace_pids);
  return true;
}

}  // namespace

Result<ProcPidStatus> parse_proc_pid_status(std::string_view text) {
  ProcPidStatus status;
  Seen seen{};
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (!take_field(line.substr(0, colon), line.substr(colon + 1), status, seen)) {
      return fail(ErrorKind::invalid, "malformed line " + clean_text(line, 80));
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) return fail(ErrorKind::invalid, "no line " + std::string(kNeeded[i]));
  }
  if (status.namespace_pids.empty()) status.namespace_pids = {status.pid};
  return status;
}

Result<ProcPidStat> parse_proc_pid_stat(std::string_view text) {
  const auto malformed = [](std::string_view what) {
    return fail(ErrorKind::invalid, "malformed stat line: " + std::string(what));
  };
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return malformed("no command in parentheses");
  }
  ProcPidStat stat;
  if (!parse_one(text.substr(0, open), stat.pid)) return malformed("no pid");
  std::string_view rest = text.substr(close + 1);
  rest = rest.substr(0, rest.find('\n'));
  const std::string_view state = next_word(rest);
  if (state.size() != 1) return malformed("no state");
  stat.state = state.front();
  if (!parse_one(next_word(rest), stat.parent_pid)) return malformed("no parent");
  constexpr int kParentField = 4;
  constexpr int kStartField = 22;
  for (int field = kParentField + 1; field < kStartField; ++field) next_word(rest);
  const auto start = parse_number<std::uint64_t>(next_word(rest));
  if (!start) return malformed("no start time");
  stat.start_ticks = *start;
  return stat;
}

std::vector<CgroupLine> parse_proc_pid_cgroup(std::string_view text) {
  std::vector<CgroupLine> lines;
  while (!text.empty()) {
    // The kernel refuses cgroup names with a newline, so a line is a line; paths may hold colons.
    const std::string_view line = next_line(text);
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto hierarchy = parse_number<int>(line.substr(0, first));
    if (!hierarchy) continue;
    lines.push_back({*hierarchy, std::string(line.substr(first + 1, second - first - 1)),
                     std::string(line.substr(second + 1))});
  }
  return lines;
}

MapsLine parse_maps_line(std::string_view line) {
  constexpr std::string_view kDeleted = " (deleted)";
  // Begin-end, permissions, offset, device, inode; then blanks, and a path with whatever is in it.
  std::string_view rest = line;
  const std::string_view range = next_word(rest);
  for (int field = 0; field < 4; ++field) static_cast<void>(next_word(rest));
  const std::size_t begin = rest.find_first_not_of(' ');
  std::string_view path = begin == std::string_view::npos ? "" : rest.substr(begin);
  if (!path.starts_with('/')) path = {};  // the heap, a stack, memory with a name of the process's
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return {.address = range.substr(0, range.find('-')), .path = path};
}

}  // namespace dynolog
