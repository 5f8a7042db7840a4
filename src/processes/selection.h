// Which processes a request means. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "processes/identity.h"
#include "processes/process_table.h"
#include "processes/role.h"

namespace dynolog {

inline constexpr std::size_t kMinContainerPrefix = 6;

struct WantedRank {
  int rank = 0;
  int world_size = 0;  // of a job of so many; 0: of any
};

struct Selection {
  // As `dyno ps` shows it, with or without the scheduler ("slurm:123"). "123" also means its steps
  // and array members ("123_4", 123.0).
  std::optional<std::string> job;
  std::vector<std::int64_t> pids;  // host pid or pid in the process's namespace
  std::vector<WantedRank> ranks;
  std::optional<Uid> uid;
  // Substring of the command line. What multiprocessing started counts under its parent's too: its
  // own is always the same.
  std::optional<std::string> command;
  std::vector<int> gpus;  // holds one of them: numbers as in ProcessFacts::gpus
  // The container's name, its id, or at least kMinContainerPrefix characters of a runtime's id.
  std::optional<std::string> container;
  bool all = false;               // root's consent to trace several users' or jobs' processes
  std::size_t process_limit = 0;  // 0: none
  [[nodiscard]] bool empty() const {
    return !job && pids.empty() && ranks.empty() && !uid && !command && gpus.empty() && !container;
  }
};

struct Skipped {
  Pid pid;
  std::string reason;  // a sentence part: "launcher of the job", "stalled: last poll 14 s ago"
  Role role = Role::worker;
};

struct Selected {
  // Where processes of the host hold a GPU, those first; then ranks in order, then pids.
  std::vector<const ProcessEntry*> chosen;
  std::vector<Skipped> skipped;
  // Each pid, rank, GPU and container that was named and that nothing here matched, as a sentence.
  std::vector<std::string> unmatched;
  // Set when root asked without a selection and several users or jobs would be traced.
  bool ambiguous = false;
};

// Only processes that `caller` may reach are looked at at all: others are neither chosen nor shown.
// Of those that the selection means, skipped are, unless named by pid (then the user has the say,
// and a stalled one may wake up):
// - launchers, data loaders and helpers, where workers of their job are meant too;
// - those with neither rank nor GPU, where others of their job that are meant hold a GPU;
// - stalled ones, and what is over the limit.
[[nodiscard]] Selected select_processes(const std::vector<const ProcessEntry*>& entries,
                                        const Selection& selection, const Caller& caller,
                                        MonotonicTime now);

}  // namespace dynolog
