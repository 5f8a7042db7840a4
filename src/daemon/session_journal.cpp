// Reading and writing the journal's files.
#include "daemon/session_journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxFile = 64U << 20U;
constexpr std::size_t kMaxFiles = 4096;
constexpr const char* kSuffix = ".json";

}  // namespace

SessionJournal::SessionJournal(std::string directory, Log& log)
    : directory_(std::move(directory)), log_(log) {
  // A failure shows at the first write.
  ::mkdir(directory_.c_str(), 0700);
}

std::string SessionJournal::path_of(const SessionId& id) const {
  return directory_ + "/" + id.value + kSuffix;
}

void SessionJournal::write(const SessionId& id, const std::string& record) {
  const auto written = replace_file(path_of(id), record, 0600);
  if (written) {
    if (std::exchange(failing_, false)) log_.info("the session journal is written again");
  } else if (!std::exchange(failing_, true)) {
    log_.warning(
        "cannot write the session journal (a restarted daemon will not know its sessions): "
        "{}",
        written.error().message);
  }
}

void SessionJournal::remove(const SessionId& id) { ::unlink(path_of(id).c_str()); }

std::vector<SessionRecord> SessionJournal::read(MonotonicTime now, WallTime wall) {
  std::vector<SessionRecord> sessions;
  std::error_code error;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    if (++files > kMaxFiles) break;
    const std::string path = entry.path();
    if (!path.ends_with(kSuffix)) continue;
    const auto text = read_file(path, kMaxFile);
    auto read = text ? parse_record(*text, now, wall) : std::unexpected(text.error());
    const bool is_its_own = read && path == path_of(read->session.id);
    if (!is_its_own) {
      log_.warning("{} is no whole record of a session: passed over{}", path,
                   read ? "" : " (" + read.error().message + ")");
      ::unlink(path.c_str());
      continue;
    }
    sessions.push_back(std::move(*read));
  }
  return sessions;
}

}  // namespace dynolog
