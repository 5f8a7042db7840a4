// mkdir alone decides what was made here: nothing is ever removed that was there before.
#include "cli/trace_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/time_text.h"

namespace dynolog {
namespace {

constexpr int kMostTries = 100;

// What keeps the caller from putting files there.
Status check_directory(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail_errno(errno, path);
  if (!S_ISDIR(info.st_mode)) return fail(ErrorKind::invalid, path + ": not a directory");
  if (::access(path.c_str(), W_OK | X_OK) != 0) return fail_errno(errno, path);
  return {};
}

}  // namespace

std::string directory_id(const std::string& path) {
  struct stat info{};
  if (path.empty() || ::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return "";
  return fmt::format("{}:{}", info.st_dev, info.st_ino);
}

Result<TraceDirectory> TraceDirectory::make(const std::string& parent, WallTime now) {
  const std::string base =
      fmt::format("{}/dynolog-{}", parent == "/" ? "" : parent, compact_utc(now));
  for (int i = 1; i <= kMostTries; ++i) {
    const std::string path = i == 1 ? base : fmt::format("{}-{}", base, i);
    if (::mkdir(path.c_str(), 0700) == 0) {
      TraceDirectory made;
      made.path_ = path;
      made.made_ = {path};
      return made;
    }
    if (errno != EEXIST) return fail_errno(errno, "making the directory " + path);
  }
  return fail(ErrorKind::exhausted, base + " and its successors exist already");
}

Result<TraceDirectory> TraceDirectory::at(const std::string& path) {
  TraceDirectory made;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) == 0) {
      made.made_.push_back(part);
    } else if (const int error = errno; directory_id(part).empty()) {
      return fail_errno(error, "making the directory " + part);
    }
    if (end == std::string::npos) break;
  }
  if (const Status good = check_directory(path); !good) return std::unexpected(good.error());
  made.path_ = path;
  return made;
}

TraceDirectory::TraceDirectory(TraceDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), made_(std::exchange(other.made_, {})) {}

TraceDirectory& TraceDirectory::operator=(TraceDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(made_, other.made_);
  return *this;
}

TraceDirectory::~TraceDirectory() {
  for (auto each = made_.rbegin(); each != made_.rend(); ++each) ::rmdir(each->c_str());
}

std::string TraceDirectory::id() const { return directory_id(path_); }

}  // namespace dynolog
