// Which processes a request means. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "processes/identity.h"
#include "processes/process_table.h"

namespace dynolog {

struct Selection {
  // As `dyno ps` shows it, with or without the scheduler ("slurm:123"). "123" also means its steps
  // and array members ("123_4", 123.0).
  std::optional<std::string> job;
  std::vector<std::int64_t> pids;  // host pid or pid in the process's namespace
  std::vector<int> ranks;
  std::optional<Uid> uid;
  std::optional<std::string> command;  // substring of the command line
  bool all = false;                    // root's consent to trace several users' or jobs' processes
  std::size_t process_limit = 0;       // 0: none
  [[nodiscard]] bool empty() const {
    return !job && pids.empty() && ranks.empty() && !uid && !command;
  }
};

struct Skipped {
  Pid pid;
  std::string reason;  // a sentence part: "launcher of the job", "stalled: last poll 14 s ago"
};

struct Selected {
  std::vector<const ProcessEntry*> chosen;  // ranks in order, then pids
  std::vector<Skipped> skipped;
  // Each pid and rank that was named and that nothing here matched, as a sentence.
  std::vector<std::string> unmatched;
  // Set when root asked without a selection and several users or jobs would be traced.
  bool ambiguous = false;
};

// Only processes that `caller` may reach are looked at at all: others are neither chosen nor shown.
// Launchers are skipped when their job has worker processes, and stalled processes always, unless
// named by pid: then the user has the say, and a stalled one may wake up.
[[nodiscard]] Selected select_processes(const std::vector<const ProcessEntry*>& entries,
                                        const Selection& selection, const Caller& caller,
                                        MonotonicTime now);

}  // namespace dynolog
