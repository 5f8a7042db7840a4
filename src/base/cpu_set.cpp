// Reading a set of CPUs, strictly: a list that somebody typed.
#include "base/cpu_set.h"

#include <algorithm>
#include <string>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {

Result<std::vector<std::uint32_t>> parse_cpu_set(std::string_view text) {
  std::vector<std::uint32_t> cpus;
  for (const std::string_view item : split(text, ',')) {
    const std::string_view range = trim(item);
    const std::size_t dash = range.find('-');
    const auto first = parse_number<std::uint32_t>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_number<std::uint32_t>(range.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= kMaxCpus) {
      return fail(ErrorKind::invalid, "must be CPUs and ranges of them, such as 0-3,8; '" +
                                          std::string(range) + "' is none");
    }
    for (std::uint32_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > kMaxCpus) return fail(ErrorKind::invalid, "names too many CPUs");
  }
  std::ranges::sort(cpus);
  const auto repeated = std::ranges::unique(cpus);
  cpus.erase(repeated.begin(), repeated.end());
  return cpus;
}

}  // namespace dynolog
