// A trace session: one request of one caller, over any number of processes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "processes/identity.h"
#include "profiling/process_trace.h"

namespace dynolog {

enum class SessionPhase { prepared, committed, ended };

struct Session {
  SessionId id;
  Caller owner;
  SessionPhase phase = SessionPhase::prepared;
  WallTime created;
  std::optional<MonotonicTime> deadline;
  std::map<Pid, ProcessTrace> traces;
  // Whose each process was at the commit: a change is a refusal, over restarts as well.
  std::map<Pid, Tenant> tenants;

  [[nodiscard]] bool all_ended() const;
};

// The journal's text (JSON, versioned) of committed sessions, and back. Reading is strict: a text
// that is not whole or not ours is an error, and the caller starts with no sessions and says so.
[[nodiscard]] std::string journal_text(const std::vector<const Session*>& sessions,
                                       MonotonicTime now, WallTime wall);
[[nodiscard]] Result<std::vector<Session>> parse_journal(std::string_view text, MonotonicTime now,
                                                         WallTime wall);

}  // namespace dynolog
