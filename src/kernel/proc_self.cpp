// /proc/self and getrusage(2).
#include "kernel/proc_self.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxFile = 64U << 10U;

Nanoseconds to_nanoseconds(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

std::string_view take_word(std::string_view& rest) {
  const std::size_t space = rest.find(' ');
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  return word;
}

}  // namespace

Result<ProcSelfStat> parse_proc_self_stat(std::string_view text) {
  const auto bad = [] { return fail(ErrorKind::invalid, "/proc/self/stat: unexpected text"); };
  const std::size_t command_end = text.rfind(')');  // the command may hold ") "
  if (command_end == std::string_view::npos || command_end + 2 > text.size()) return bad();
  std::string_view rest = text.substr(command_end + 2);
  ProcSelfStat stat;
  for (int field = 3; field <= 24; ++field) {  // proc(5)'s numbers
    const std::string_view word = take_word(rest);
    if (field != 20 && (field < 22 || field > 24)) continue;
    const auto value = parse_number<std::uint64_t>(word);
    if (!value) return bad();
    if (field == 20) stat.threads = *value;
    if (field == 22) stat.start_ticks = *value;
    if (field == 23) stat.virtual_bytes = *value;
    if (field == 24) stat.resident_pages = *value;
  }
  return stat;
}

SelfUsage read_self_usage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);  // cannot fail with these arguments
  return {to_nanoseconds(usage.ru_utime), to_nanoseconds(usage.ru_stime),
          static_cast<std::uint64_t>(usage.ru_nvcsw), static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

Result<std::uint64_t> parse_proportional_bytes(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("Pss:")) continue;
    line = trim(line.substr(4));
    const std::size_t space = line.find(' ');
    const auto kilobytes = parse_number<std::uint64_t>(line.substr(0, space));
    if (!kilobytes || space == std::string_view::npos || line.substr(space) != " kB") break;
    return *kilobytes * 1024;
  }
  return fail(ErrorKind::invalid, "/proc/self/smaps_rollup: unexpected text");
}

Result<std::uint64_t> read_self_resident(const SystemRoot& root, long page_size) {
  const auto text = read_file(root.proc + "/self/stat", kMaxFile);
  if (!text) return std::unexpected(text.error());
  const auto stat = parse_proc_self_stat(*text);
  if (!stat) return std::unexpected(stat.error());
  return stat->resident_pages * static_cast<std::uint64_t>(page_size);
}

Result<SelfMemory> read_self_memory(const SystemRoot& root, long page_size) {
  if (const auto text = read_file(root.proc + "/self/smaps_rollup", kMaxFile)) {
    if (const auto bytes = parse_proportional_bytes(*text)) return SelfMemory{*bytes, true};
  }
  const auto resident = read_self_resident(root, page_size);
  if (!resident) return std::unexpected(resident.error());
  return SelfMemory{*resident, false};
}

std::uint64_t read_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // cannot fail with these arguments
  return limit.rlim_cur;
}

Result<std::uint64_t> SelfDescriptors::count() const {
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) return fail_errno(errno, path_);
  if (status.st_size > 0) return static_cast<std::uint64_t>(status.st_size);
  const auto close = [](DIR* open_dir) { ::closedir(open_dir); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(path_.c_str()), close);
  if (!directory) return fail_errno(errno, path_);
  std::uint64_t entries = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') ++entries;
  }
  return entries == 0 ? 0 : entries - 1;  // without the one that is reading
}

}  // namespace dynolog
