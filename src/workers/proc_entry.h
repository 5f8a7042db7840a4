// One process's directory in /proc, opened once: it never comes to mean another process, even when
// the pid is used again.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"
#include "base/system_root.h"
#include "base/unique_fd.h"
#include "kernel/proc_pid.h"

namespace dynolog {

class ProcEntry {
 public:
  [[nodiscard]] static Result<ProcEntry> open(const SystemRoot& root, Pid pid);

  // At most `max_bytes` of a file; what is beyond is left out.
  [[nodiscard]] Result<std::string> read(const char* name, std::size_t max_bytes) const;
  [[nodiscard]] Result<std::string> read_link(const char* name) const;
  // Line by line, up to `max_bytes`, until `take` gives false.
  [[nodiscard]] Status each_line(const char* name, std::size_t max_bytes,
                                 const std::function<bool(std::string_view)>& take) const;
  // The targets of the links in a directory ("fd"), at most `max_count`, until `take` gives false.
  [[nodiscard]] Status each_link(const char* directory, std::size_t max_count,
                                 const std::function<bool(std::string_view)>& take) const;

  // The process's root directory, O_PATH.
  [[nodiscard]] Result<UniqueFd> open_root() const;
  [[nodiscard]] Result<ProcPidStat> stat() const;
  [[nodiscard]] Result<ProcPidStatus> status() const;

 private:
  explicit ProcEntry(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace dynolog
