// One log behind a pointer; who writes while it is exchanged finishes with the old one.
#include "daemon/daemon_log.h"

#include <utility>

namespace dynolog {

DaemonLog::DaemonLog(LogLevel least, bool for_journal)
    : for_journal_(for_journal), log_(make_stderr_log(least, for_journal)) {}

std::shared_ptr<LevelledLog> DaemonLog::log() const {
  const std::scoped_lock lock(mutex_);
  return log_;
}

void DaemonLog::write(LogLevel level, std::string_view line) { log()->write(level, line); }
void DaemonLog::set_least(LogLevel least) { log()->set_least(least); }
LogLevel DaemonLog::least() const { return log()->least(); }
Status DaemonLog::reopen() { return log()->reopen(); }

Status DaemonLog::use_file(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (path == file_) return log_->reopen();
  std::shared_ptr<LevelledLog> fresh;
  if (path.empty()) {
    fresh = make_stderr_log(log_->least(), for_journal_);
  } else {
    auto opened = make_file_log(log_->least(), path);
    if (!opened) return std::unexpected(std::move(opened.error()));
    fresh = std::move(*opened);
  }
  log_ = std::move(fresh);
  file_ = path;
  return {};
}

}  // namespace dynolog
