// The directory that gputrace makes for traces when no --log-file was given.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"

namespace dynolog {

// Removes the directory at its end when it is still empty, unless keep() was called.
class TraceDirectory {
 public:
  // <parent>/dynolog-<UTC time>, mode 0700; a number is added when that exists.
  [[nodiscard]] static Result<TraceDirectory> make(const std::string& parent, WallTime now);

  TraceDirectory() = default;
  TraceDirectory(TraceDirectory&& other) noexcept;
  TraceDirectory& operator=(TraceDirectory&& other) noexcept;
  ~TraceDirectory();

  void keep() { path_.clear(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;  // "": nothing to remove
};

}  // namespace dynolog
