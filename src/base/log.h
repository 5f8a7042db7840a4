// The log as an argument. One line for each change of state, never one for each cycle.
#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace dynolog {

enum class LogLevel { debug, info, warning, error };
inline constexpr std::array<std::string_view, 4> kLogLevelNames{"debug", "info", "warning",
                                                                "error"};
[[nodiscard]] std::string_view to_string(LogLevel level);
[[nodiscard]] std::optional<LogLevel> log_level_from(std::string_view name);

// Safe to call from any thread.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view line) = 0;

  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
  }
};

// A log whose least level can be changed while it is used. All safe to call from any thread.
class LevelledLog : public Log {
 public:
  virtual void set_least(LogLevel least) = 0;
  [[nodiscard]] virtual LogLevel least() const = 0;
  // Opens the file anew under its name, after it was rotated; on an error the old one stays.
  // Nothing to do for stderr.
  [[nodiscard]] virtual Status reopen() = 0;
};

// Lines to stderr. Under systemd (`for_journal`) each begins with "<N>", the journal's priority,
// and carries no time; elsewhere with an RFC 3339 time in UTC and the level.
[[nodiscard]] std::unique_ptr<LevelledLog> make_stderr_log(LogLevel least, bool for_journal);

// Lines appended to a file as open_own_file() has it, which is made with mode 0640, with time and
// level.
[[nodiscard]] Result<std::unique_ptr<LevelledLog>> make_file_log(LogLevel least,
                                                                 const std::string& path);

// Whether `fd` is the journal's, as $JOURNAL_STREAM ("device:inode") has it: the variable alone is
// also there for a process whose output was sent elsewhere.
[[nodiscard]] bool is_journal_stream(int fd, std::string_view journal_stream);

// Drops everything.
[[nodiscard]] std::unique_ptr<Log> make_silent_log();

}  // namespace dynolog
