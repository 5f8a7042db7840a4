// Becoming the owner of a process for good: its ids, its groups, and no capability at all, uid 0
// included.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace dynolog {

struct OwnerIds {
  Uid uid;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
};

// Irrevocable for this process, which must be single-threaded. Needs root, or to be that user
// already (then the groups stay as they are). What the kernel says afterwards is compared with what
// was asked for: any difference is an error, and the process must end.
[[nodiscard]] Status drop_privileges(const OwnerIds& owner);

// Limits that hold for every files worker: no core dumps, little memory, as many descriptors as
// permitted; files of any size, for what stands in the way of a trace is the user's quota alone.
void limit_resources();

}  // namespace dynolog
