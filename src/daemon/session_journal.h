// The journal on disk: a file for each committed session, so that a change costs what that session
// costs, however many others there are.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/session_record.h"

namespace dynolog {

class SessionJournal {
 public:
  // `directory` is made where it is missing; it belongs to the daemon alone.
  SessionJournal(std::string directory, Log& log);

  void write(const SessionId& id, const std::string& record);
  void remove(const SessionId& id);
  // Those of an earlier daemon. What is not whole is named in the log, removed, and passed over.
  [[nodiscard]] std::vector<SessionRecord> read(MonotonicTime now, WallTime wall);

 private:
  [[nodiscard]] std::string path_of(const SessionId& id) const;

  std::string directory_;
  Log& log_;
  bool failing_ = false;  // said once
};

}  // namespace dynolog
