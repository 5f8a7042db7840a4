// Processes by state.
#include "kernel/process_census.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

// More than the fields up to the number of threads can take.
constexpr std::size_t kStatBytes = 512;

std::optional<ProcessBrief> read_brief(int directory, const char* pid) {
  std::array<char, 64> path{};
  const std::size_t length = std::strlen(pid);
  constexpr std::string_view kStat = "/stat";
  if (length + kStat.size() >= path.size()) return std::nullopt;
  std::memcpy(path.data(), pid, length);
  std::memcpy(path.data() + length, kStat.data(), kStat.size());
  const UniqueFd fd(::openat(directory, path.data(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  std::array<char, kStatBytes> text{};
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  return parse_process_brief(std::string_view(text.data(), static_cast<std::size_t>(got)));
}

}  // namespace

std::optional<ProcessBrief> parse_process_brief(std::string_view stat) {
  constexpr int kFieldsBetween = 16;  // from the parent to the nice value
  const std::size_t parenthesis = stat.rfind(')');
  if (parenthesis == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(parenthesis + 1);
  const std::string_view state = take_word(stat);
  for (int i = 0; i < kFieldsBetween; ++i) (void)take_word(stat);
  const auto threads = take_count(stat);
  if (state.size() != 1 || !threads) return std::nullopt;
  return ProcessBrief{state.front(), *threads};
}

Result<ProcessCensus> CensusTaker::take() {
  if (!directory_.rewind()) return fail_errno(errno, directory_.path());
  ProcessCensus census;
  while (const char* name = directory_.next()) {
    if (*name < '1' || *name > '9') continue;
    const auto brief = read_brief(directory_.descriptor(), name);
    if (!brief) continue;
    ++census.processes;
    census.threads += brief->threads;
    const auto letter = static_cast<unsigned char>(brief->state);
    if (letter < census.by_state.size()) ++census.by_state[letter];
    if (std::string_view(name) == "1") census.has_init = true;
  }
  return census;
}

}  // namespace dynolog
