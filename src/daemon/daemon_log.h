// The daemon's log: to stderr or to a file, which can be opened anew or changed while it is used.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"

namespace dynolog {

// Safe to call from any thread.
class DaemonLog final : public LevelledLog {
 public:
  // To stderr at first. `for_journal` as make_stderr_log() has it.
  DaemonLog(LogLevel least, bool for_journal);

  void write(LogLevel level, std::string_view line) override;
  void set_least(LogLevel least) override;
  [[nodiscard]] LogLevel least() const override;
  [[nodiscard]] Status reopen() override;
  // To this file from now on, "": to stderr. The same file is opened anew. On an error nothing has
  // changed.
  [[nodiscard]] Status use_file(const std::string& path);

 private:
  [[nodiscard]] std::shared_ptr<LevelledLog> log() const;

  bool for_journal_;
  mutable std::mutex mutex_;
  std::shared_ptr<LevelledLog> log_;
  std::string file_;
};

}  // namespace dynolog
