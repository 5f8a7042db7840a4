// Showing how a session goes: a table that is redrawn on a terminal, else a line for each change.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/world.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

class Progress {
 public:
  explicit Progress(const World& world) : world_(world) {}

  // `changed` are those updates of the outcome that are new.
  void show(const TraceOutcome& outcome, const std::vector<rpc::TraceUpdate>& changed);
  // A line of its own, below a table that then stays as it is.
  void say(const std::string& line);

 private:
  const World& world_;
  std::size_t drawn_ = 0;  // lines of the table on the screen
};

}  // namespace dynolog
