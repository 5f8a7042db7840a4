// What part a registered process has in its job. Pure.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "processes/family.h"
#include "processes/process_table.h"

namespace dynolog {

enum class Role {
  worker,       // does the job, as far as can be told
  launcher,     // starts those that do: torchrun, accelerate, Ray and Flyte agents
  data_loader,  // feeds a worker
  helper,       // another child of a worker, or an engine's front: does not compute
};

// "worker", "launcher", "data_loader", "helper".
[[nodiscard]] std::string_view to_string(Role role);

struct Part {
  Role role = Role::worker;
  std::string reason;  // a sentence part, "data loader of process 4711"; "" for a worker
};

using Parts = std::unordered_map<Pid, Part>;

// The part of each of `entries`, which should be all of the table: who started whom matters. Only
// processes of one tenant have to do with each other, so no reason names another's process. One of
// which no facts are known is taken for a worker. What cannot be told apart is a worker: a trace
// too many is better than a rank without one.
[[nodiscard]] Parts parts_of(const std::vector<const ProcessEntry*>& entries);
[[nodiscard]] Parts parts_of(const Family& family);

}  // namespace dynolog
