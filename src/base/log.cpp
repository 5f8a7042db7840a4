// The log over spdlog: to stderr, or to a file that can be opened anew.
#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <mutex>

#include "base/file.h"
#include "base/own_file.h"
#include "base/unique_fd.h"

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

LogLevel from_spdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::debug;
  if (level == spdlog::level::info) return LogLevel::info;
  return level == spdlog::level::warn ? LogLevel::warning : LogLevel::error;
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

// Not for everybody: the log says who traced whose processes.
constexpr mode_t kFileMode = 0640;

Result<UniqueFd> open_log_file(const std::string& path) {
  auto fd = open_own_file(path, kFileMode);
  if (!fd) return with_context(std::move(fd.error()), "opening the log file");
  return fd;
}

class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FileSink(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  [[nodiscard]] Status reopen() {
    auto fresh = open_log_file(path_);
    if (!fresh) return std::unexpected(std::move(fresh.error()));
    const std::scoped_lock lock(mutex_);
    fd_ = std::move(*fresh);
    return {};
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // A full disk is nobody's to be told here.
    (void)write_all(fd_.get(), {line.data(), line.size()});
  }
  void flush_() override {}

 private:
  std::string path_;
  UniqueFd fd_;
};

class SpdLog final : public LevelledLog {
 public:
  SpdLog(LogLevel least, bool for_journal, std::shared_ptr<spdlog::sinks::sink> sink,
         std::shared_ptr<FileSink> file)
      : for_journal_(for_journal), file_(std::move(file)), logger_("dynolog", std::move(sink)) {
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
  void set_least(LogLevel least) override { logger_.set_level(to_spdlog(least)); }
  [[nodiscard]] LogLevel least() const override { return from_spdlog(logger_.level()); }
  [[nodiscard]] Status reopen() override { return file_ ? file_->reopen() : Status{}; }

 private:
  bool for_journal_;
  std::shared_ptr<FileSink> file_;  // nullptr: stderr
  spdlog::logger logger_;
};

class SilentLog final : public Log {
 public:
  void write(LogLevel, std::string_view) override {}
};

}  // namespace

std::string_view to_string(LogLevel level) {
  return kLogLevelNames.at(static_cast<std::size_t>(level));
}

std::optional<LogLevel> log_level_from(std::string_view name) {
  for (std::size_t i = 0; i < kLogLevelNames.size(); ++i) {
    if (kLogLevelNames.at(i) == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::unique_ptr<LevelledLog> make_stderr_log(LogLevel least, bool for_journal) {
  return std::make_unique<SpdLog>(least, for_journal,
                                  std::make_shared<spdlog::sinks::stderr_sink_mt>(), nullptr);
}

Result<std::unique_ptr<LevelledLog>> make_file_log(LogLevel least, const std::string& path) {
  auto fd = open_log_file(path);
  if (!fd) return std::unexpected(std::move(fd.error()));
  auto sink = std::make_shared<FileSink>(path, std::move(*fd));
  return std::make_unique<SpdLog>(least, false, sink, sink);
}

bool is_journal_stream(int fd, std::string_view journal_stream) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 &&
         journal_stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

std::unique_ptr<Log> make_silent_log() { return std::make_unique<SilentLog>(); }

}  // namespace dynolog
