// Which job a process belongs to and which rank it is: from the cgroup, the environment, the title.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "kernel/proc_pid.h"

namespace dynolog {

// Where a rank came from. `title` is what vLLM and Ray write into the process title.
enum class RankSource { none, environment, title };

struct JobFacts {
  std::string scheduler;  // "slurm", "pbs", "lsf", "flux", "torchrun", "ray", "kubernetes", ""
  JobId job;              // "123", "123_4" (array), "123.0" is job 123 with step 0 in `step`
  // The number of an array task's own allocation where `job` names the array ("36200" beside
  // "36199_0"); "" otherwise.
  std::string allocation;
  std::string step;
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> world_size;        // without it nobody may claim "of N"
  std::optional<int> local_world_size;  // ranks of the job on this host, where a launcher says it
  RankSource rank_source = RankSource::none;
  // It is one rank, and what it starts is none: a launcher of PyTorch's told it its LOCAL_RANK, or
  // there are several ranks on this host. A scheduler's or pod's number alone may be that of a
  // process that starts ranks of its own.
  bool launched = false;
  bool launcher = false;  // torchrun, accelerate, Ray or Flyte agent: registers, but trains nothing
};

using Environment = std::unordered_map<std::string, std::string>;

// Variables that job_facts() looks at: the procs worker sends only these.
[[nodiscard]] const std::vector<std::string_view>& job_environment_variables();

// NUL-separated text of /proc/<pid>/environ, bounded; only the variables of the list are kept,
// cleaned.
[[nodiscard]] Environment parse_environ(std::string_view text,
                                        const std::vector<std::string_view>& wanted);

// The cgroup wins over the environment (a process can rewrite its environment, not its cgroup);
// the environment over the title.
[[nodiscard]] JobFacts job_facts(const std::vector<CgroupLine>& cgroup,
                                 const Environment& environment,
                                 const std::vector<std::string>& command_line);

}  // namespace dynolog
