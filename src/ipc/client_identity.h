// Who sent a datagram: read from the process itself, pinned by its pidfd.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/system_root.h"

namespace dynolog {

struct ClientIdentity {
  Uid uid;  // the effective one, of the process itself: a credential's can be forged
  std::uint64_t start_ticks = 0;
};

// Of the process that `pidfd` pins, which has this pid. Errors: not_found (it has ended), denied
// (its user has no meaning here: the overflow uid), others as the files give them.
[[nodiscard]] Result<ClientIdentity> read_identity(const SystemRoot& root, Pid pid, int pidfd);
// Its parts, the errors as above. The start is the dear one: a file in any case, and hundreds of
// processes may call at one instant.
[[nodiscard]] Result<Uid> read_user(const SystemRoot& root, Pid pid, int pidfd);
[[nodiscard]] Result<std::uint64_t> read_start(const SystemRoot& root, Pid pid, int pidfd);

// False once the process is dead and reaped, so that its pid may already be another's.
[[nodiscard]] bool holds_pid(int pidfd);
// True when the process has ended, reaped or not.
[[nodiscard]] bool has_ended(int pidfd);

// pidfd_open(2).
[[nodiscard]] int open_pidfd(Pid pid);

// Whether a process of this start time can have sent a message queued at `queued`: not when it
// started afterwards, and so took a dead sender's pid over.
[[nodiscard]] bool started_before(std::uint64_t start_ticks, WallTime queued);

}  // namespace dynolog
