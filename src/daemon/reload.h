// SIGHUP: reads the configuration anew, has what can be taken up taken up, and says what became of
// it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "config/changes.h"
#include "config/options.h"

namespace dynolog {

struct ReloadReport {
  bool taken = false;
  std::string problem;                  // not taken: why; everything is as it was
  std::vector<std::string> at_once;     // options that changed and count since
  std::vector<std::string> next_start;  // that differ from those in effect
};
// "changed at once: log_level; count from the next start: port"
[[nodiscard]] std::string text_of(const ReloadReport& report);

// On the loop's thread only.
class ConfigurationReload {
 public:
  struct World {
    Log& log;
    std::function<Result<CommandLine>()> read;
    // Puts these changes into effect; an error: nothing of them is.
    std::function<Status(const Options& before, const Options& after,
                         const std::vector<const OptionRow*>& changes)>
        take_up;
  };
  ConfigurationReload(World world, Options started);

  // Logged, too.
  ReloadReport run();
  // In effect, but for those that count from the next start: those are as they were last read.
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  [[nodiscard]] ReloadReport reload();

  World world_;
  const Options started_;
  Options options_;
};

}  // namespace dynolog
