// A directory on dyno's side for traces: made when it is not there, and taken away again when
// nothing came into it.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace dynolog {

// Removes at its end what it made and is still empty, unless keep() was called.
class TraceDirectory {
 public:
  // <parent>/dynolog-<UTC time>, mode 0700; a number is added when that exists.
  [[nodiscard]] static Result<TraceDirectory> make(const std::string& parent, WallTime now);
  // `path` (absolute), with those above it, as `mkdir -p` does it. One that is there already must
  // be a directory that the caller may write to.
  [[nodiscard]] static Result<TraceDirectory> at(const std::string& path);

  TraceDirectory() = default;
  TraceDirectory(TraceDirectory&& other) noexcept;
  TraceDirectory& operator=(TraceDirectory&& other) noexcept;
  ~TraceDirectory();

  void keep() { made_.clear(); }
  [[nodiscard]] const std::string& path() const { return path_; }  // "": there is none
  [[nodiscard]] std::string id() const;  // "dev:inode", "" when it cannot be seen

 private:
  std::string path_;
  std::vector<std::string> made_;  // outermost first
};

// "dev:inode" of the directory that stands there for dyno, "" when there is none.
[[nodiscard]] std::string directory_id(const std::string& path);

}  // namespace dynolog
