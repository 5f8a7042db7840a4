// Showing how a session goes: a table that is redrawn on a terminal, else a line for each change.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/exit_code.h"
#include "cli/world.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

class Progress {
 public:
  explicit Progress(const World& world) : world_(world) {}

  // `changed` are those updates of the outcome that are new.
  void show(const TraceOutcome& outcome, const std::vector<rpc::TraceUpdate>& changed);
  // Something more of a file has come: shown now and then.
  void show_fetching(const TraceOutcome& outcome);
  // A line of its own, below a table that then stays as it is.
  void say(const std::string& line);

 private:
  [[nodiscard]] bool is_terminal() const { return world_.terminal.rows > 0; }
  void draw(const TraceOutcome& outcome);

  const World& world_;
  std::size_t drawn_ = 0;  // lines of the table on the screen
  std::optional<MonotonicTime> shown_at_;
};

}  // namespace dynolog
