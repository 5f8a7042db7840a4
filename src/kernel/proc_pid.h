// Parsers of /proc/<pid>/status, stat, cgroup and maps. Pure: text in, struct out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog {

struct ProcPidStatus {
  std::string name;  // raw, may hold any byte but NUL and newline (escaped by the kernel)
  char state = '?';
  std::int32_t pid = 0;
  std::int32_t parent_pid = 0;
  // real, effective, saved, file system
  std::uint32_t uids[4] = {};
  std::uint32_t gids[4] = {};
  std::vector<std::uint32_t> groups;
  // Outermost (ours) first; the last is the pid in the process's own namespace. {pid} when the
  // kernel does not print NSpid.
  std::vector<std::int32_t> namespace_pids;
};
[[nodiscard]] Result<ProcPidStatus> parse_proc_pid_status(std::string_view text);

struct ProcPidStat {
  std::int32_t pid = 0;
  char state = '?';
  std::int32_t parent_pid = 0;
  std::uint64_t start_ticks =
      0;  // field 22, in clock ticks since boot: with the pid it names a process
};
// comm may hold spaces and parentheses: what counts is the last ')'.
[[nodiscard]] Result<ProcPidStat> parse_proc_pid_stat(std::string_view text);

// /proc/<pid>/cgroup: "hierarchy:controllers:path" lines; v2 is "0::path".
struct CgroupLine {
  int hierarchy = 0;
  std::string controllers;
  std::string path;
};
[[nodiscard]] std::vector<CgroupLine> parse_proc_pid_cgroup(std::string_view text);

// A line of /proc/<pid>/maps. Views are parts of the line; "" for what is mapped without a file.
struct MapsLine {
  std::string_view address;  // where it begins, as the kernel writes it
  std::string_view path;     // also of a file that is deleted since: without the word
  [[nodiscard]] std::string_view file_name() const { return path.substr(path.rfind('/') + 1); }
};
[[nodiscard]] MapsLine parse_maps_line(std::string_view line);

}  // namespace dynolog
