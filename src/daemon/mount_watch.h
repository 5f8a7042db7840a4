// Which mounts do not answer: told once, and shown in the status.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "kernel/mounts.h"

namespace dynolog {

// On the loop's thread only.
class MountWatch {
 public:
  using Report = std::function<void(const std::string& state, const std::string& reason)>;
  MountWatch(Log& log, Report report) : log_(log), report_(std::move(report)) {}

  // For each answer of the mounts worker.
  void look_at(const Result<std::vector<MountUsage>>& mounts);

 private:
  Log& log_;
  Report report_;
  std::set<std::string> hung_;  // mount points
  std::string shown_ = "-";     // the reason that was reported last
};

}  // namespace dynolog
