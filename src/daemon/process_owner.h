// Whose a process is at this moment: asked before anything is staged for it.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/system_root.h"
#include "processes/identity.h"

namespace dynolog {

// The effective uid of the process that `key` names; nullopt when it has ended. Reads only status
// and stat, which do not block.
[[nodiscard]] std::optional<Uid> owner_now(const SystemRoot& root, const ProcessKey& key);

}  // namespace dynolog
