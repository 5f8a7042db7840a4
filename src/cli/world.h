// What dyno sees of the world. main.cpp fills it in; tests give their own.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "base/clock.h"

namespace dynolog {

struct Terminal {
  int rows = 0;  // 0: stderr is no terminal, so progress is written line by line
  int columns = 0;
};

struct World {
  std::ostream& out;
  std::ostream& err;
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::uint32_t uid;
  std::string working_directory;
  std::string system_run_dir;  // /run/dynolog
  std::string temporary_dir;   // /tmp
  const Clock& clock;
  Terminal terminal;
  int out_columns;         // 0: stdout is no terminal, so nothing is cut
  bool service_installed;  // systemd knows a dynolog.service
  // From now on SIGINT and SIGTERM arrive as readability of the descriptor that is returned.
  std::function<int()> take_interrupts;
  Nanoseconds reconnect_for;  // how long a broken follow is tried again
};

}  // namespace dynolog
