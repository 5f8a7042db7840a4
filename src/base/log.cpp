// The log over spdlog's stderr sink.
#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace dynolog {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// sd-daemon(3): SD_DEBUG 7, SD_INFO 6, SD_WARNING 4, SD_ERR 3.
std::string_view journal_prefix(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "<7>";
    case LogLevel::info:
      return "<6>";
    case LogLevel::warning:
      return "<4>";
    case LogLevel::error:
      return "<3>";
  }
  return "<6>";
}

class StderrLog final : public Log {
 public:
  StderrLog(LogLevel least, bool for_journal)
      : for_journal_(for_journal),
        logger_("dynolog", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(to_spdlog(least));
    logger_.flush_on(spdlog::level::debug);
    logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>(
        for_journal ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc));
  }

  void write(LogLevel level, std::string_view line) override {
    if (for_journal_) {
      logger_.log(to_spdlog(level), "{}{}", journal_prefix(level), line);
    } else {
      logger_.log(to_spdlog(level), "{}", line);
    }
  }

 private:
  bool for_journal_;
  spdlog::logger logger_;
};

class SilentLog final : public Log {
 public:
  void write(LogLevel, std::string_view) override {}
};

}  // namespace

std::unique_ptr<Log> make_stderr_log(LogLevel least, bool for_journal) {
  return std::make_unique<StderrLog>(least, for_journal);
}

std::unique_ptr<Log> make_silent_log() { return std::make_unique<SilentLog>(); }

}  // namespace dynolog
