// mkdir alone decides whose the directory is: it never takes one that was there before.
#include "cli/trace_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/time_text.h"

namespace dynolog {
namespace {

constexpr int kMostTries = 100;

// "2026-07-21T23:42:34.141Z" -> "20260721T234234Z"
std::string compact(WallTime now) {
  std::string text;
  for (const char c : to_rfc3339(now).substr(0, 19)) {
    if (c != '-' && c != ':') text += c;
  }
  return text + "Z";
}

}  // namespace

Result<TraceDirectory> TraceDirectory::make(const std::string& parent, WallTime now) {
  const std::string base = fmt::format("{}/dynolog-{}", parent == "/" ? "" : parent, compact(now));
  for (int i = 1; i <= kMostTries; ++i) {
    const std::string path = i == 1 ? base : fmt::format("{}-{}", base, i);
    if (::mkdir(path.c_str(), 0700) == 0) {
      TraceDirectory made;
      made.path_ = path;
      return made;
    }
    if (errno != EEXIST) return fail_errno(errno, "making the directory " + path);
  }
  return fail(ErrorKind::exhausted, base + " and its successors exist already");
}

TraceDirectory::TraceDirectory(TraceDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TraceDirectory& TraceDirectory::operator=(TraceDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TraceDirectory::~TraceDirectory() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

}  // namespace dynolog
