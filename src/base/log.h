// The log as an argument. One line for each change of state, never one for each cycle.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace dynolog {

enum class LogLevel { debug, info, warning, error };

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

// Lines to stderr. Under systemd (`for_journal`) each begins with "<N>", the journal's priority,
// and carries no time; elsewhere with an RFC 3339 time in UTC and the level.
[[nodiscard]] std::unique_ptr<Log> make_stderr_log(LogLevel least, bool for_journal);

// Drops everything.
[[nodiscard]] std::unique_ptr<Log> make_silent_log();

}  // namespace dynolog
