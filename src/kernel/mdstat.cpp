// Reading /proc/mdstat: a line that names the array and its disks, then indented lines about it.
#include "kernel/mdstat.h"

#include "kernel/scan.h"

namespace dynolog {
namespace {

constexpr std::size_t kMostArrays = 4096;

std::uint32_t count_of(std::string_view text, std::string_view what) {
  std::uint32_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

// "md0 : active raid1 sdb1[1] sda1[0](F)"; false for other lines. Disks of arrays without
// redundancy are counted here: no status line counts them.
bool take_head(std::string_view line, MdArray& array, bool& is_striped) {
  array = {};
  array.name = take_word(line);
  if (take_word(line) != ":") return false;
  const std::string_view state = take_word(line);
  if (state.empty()) return false;
  array.activity = state == "inactive" ? MdActivity::inactive : MdActivity::active;
  array.disks_failed = count_of(line, "(F)");
  array.disks_spare = count_of(line, "(S)");
  is_striped =
      line.find("raid0") != std::string_view::npos || line.find("linear") != std::string_view::npos;
  if (is_striped) array.disks_active = array.disks_required = count_of(line, "[");
  return true;
}

// "[4/3]": four disks wanted, three there.
void take_disks(std::string_view line, MdArray& array) {
  for (std::size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    std::string_view rest = line.substr(at + 1);
    const std::size_t slash = rest.find('/');
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos || slash == std::string_view::npos || slash > close) {
      continue;
    }
    std::string_view required = rest.substr(0, slash);
    std::string_view active = rest.substr(slash + 1, close - slash - 1);
    const auto wanted = take_count(required);
    const auto there = take_count(active);
    if (!wanted || !there) continue;
    array.disks_required = static_cast<std::uint32_t>(*wanted);
    array.disks_active = static_cast<std::uint32_t>(*there);
    return;
  }
}

// "[==>....]  recovery = 13.3% (389716992/2930072064) finish=..." or "resync=PENDING".
void take_progress(std::string_view line, MdArray& array) {
  const auto has = [line](std::string_view word) {
    return line.find(word) != std::string_view::npos;
  };
  if (has("recovery") || has("reshape")) {
    array.activity = MdActivity::recovering;
  } else if (has("resync")) {
    array.activity = MdActivity::resync;
  } else if (has("check")) {
    array.activity = MdActivity::check;
  } else {
    return;
  }
  array.blocks_synced = 0;
  const std::size_t open = line.find('(');
  if (open == std::string_view::npos) return;
  const std::string_view rest = line.substr(open + 1);
  std::string_view done = rest.substr(0, rest.find('/'));
  array.blocks_synced = take_count(done).value_or(0);
}

void take_detail(std::string_view line, bool is_striped, MdArray& array) {
  std::string_view rest = line;
  const auto number = take_count(rest);
  if (number && take_word(rest) == "blocks") {
    array.blocks = array.blocks_synced = *number;
    if (!is_striped && array.activity != MdActivity::inactive) take_disks(rest, array);
    return;
  }
  if (line.find("bitmap") == std::string_view::npos) take_progress(line, array);
}

}  // namespace

void parse_mdstat(std::string_view text, std::vector<MdArray>& arrays) {
  arrays.clear();
  std::string_view line;
  bool is_striped = false;
  bool inside = false;
  while (take_line(text, line)) {
    if (line.empty()) continue;
    if (is_blank(line.front())) {
      if (inside) take_detail(line, is_striped, arrays.back());
      continue;
    }
    MdArray array;
    inside = arrays.size() < kMostArrays && !line.starts_with("Personalities") &&
             take_head(line, array, is_striped);
    if (inside) arrays.push_back(array);
  }
}

}  // namespace dynolog
