// /proc/loadavg: "0.20 0.18 0.12 1/80 11206".
#include "kernel/proc_loadavg.h"

#include <array>
#include <cmath>
#include <string>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {

Result<ProcLoadavg> parse_proc_loadavg(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorKind::invalid,
                "/proc/loadavg: cannot read '" + std::string(text.substr(0, 60)) + "'");
  };
  std::string_view rest = trim(text);
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    const std::size_t space = rest.find(' ');
    word = rest.substr(0, space);
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  }
  const std::size_t slash = words[3].find('/');
  if (slash == std::string_view::npos) return bad();
  const auto one = parse_number<double>(words[0]);
  const auto five = parse_number<double>(words[1]);
  const auto fifteen = parse_number<double>(words[2]);
  const auto runnable = parse_number<std::uint64_t>(words[3].substr(0, slash));
  const auto threads = parse_number<std::uint64_t>(words[3].substr(slash + 1));
  if (!one || !five || !fifteen || !runnable || !threads) return bad();
  for (const double load : {*one, *five, *fifteen}) {
    if (!std::isfinite(load) || load < 0) return bad();
  }
  return ProcLoadavg{*one, *five, *fifteen, *runnable, *threads};
}

}  // namespace dynolog
